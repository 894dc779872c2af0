internal import CLinux

/// What is known of a terminal.
public enum Terminal {
    /// How many columns and rows it shows; nil where the descriptor is no terminal.
    public static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        var (columns, rows): (Int32, Int32) = (0, 0)
        guard unsafe fb_terminal_size(descriptor, &columns, &rows) == 0 else { return nil }
        // A serial line does not know.
        return (columns > 0 ? Int(columns) : 80, rows > 0 ? Int(rows) : 24)
    }
}
