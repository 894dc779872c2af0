"""The rows, in their order: a row is a function of a World."""
ROWS = []


class Row:
    def __init__(self, number, fault, function, options):
        self.number, self.fault, self.function = number, fault, function
        self.real = options.pop("real", False)    # needs Apache Kafka; the function makes its own world
        self.quick = options.pop("quick", False)  # also run by make test
        self.options = options


def row(number, fault, **options):
    def add(function):
        ROWS.append(Row(number, fault, function, options))
        return function
    return add
