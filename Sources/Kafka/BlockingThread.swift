import CRdKafka
import Glibc

/// The one thread beside the loop, for librdkafka's calls that wait for a broker.
///
/// Calls go to it and come back as pointers through two pipes, so nothing is shared but a call that
/// is with one side at a time. The thread is detached and never joined: a call that hangs holds up
/// later calls, but neither the loop nor the end of the process.
@safe
final class BlockingThread {
    /// A call: `work` runs on the thread, then `finish` on the loop.
    private final class Call {
        let work: () -> Void
        let finish: () -> Void

        init(work: @escaping () -> Void, finish: @escaping () -> Void) {
            self.work = work
            self.finish = finish
        }
    }

    private let pipes: CallPipes
    /// How many calls have not come back.
    private(set) var pending = 0
    /// How many have.
    private(set) var finished = 0

    /// Starts the thread; `descriptor` becomes readable when a call has come back.
    init(descriptor: EventDescriptor) {
        pipes = CallPipes(descriptor: descriptor)
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(pipes).toOpaque()
        // Signals belong to the loop.
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        let code = unsafe pthread_create(&thread, nil, BlockingThread.serve, context)
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        precondition(code == 0, "no thread is left for calls that block: error \(code)")
        pthread_detach(thread)
    }

    /// Runs `work` on the thread after all earlier calls, then, at `finishCalls`, `finish` here.
    ///
    /// `work` may touch nothing of the loop's but librdkafka's handle; what it found, it leaves in
    /// a box that `finish` opens.
    func call(_ work: @escaping () -> Void, finish: @escaping () -> Void) {
        pending += 1
        unsafe pipes.requests.send(
            Unmanaged.passRetained(Call(work: work, finish: finish)).toOpaque())
    }

    /// Runs `finish` of the calls that have come back.
    func finishCalls() {
        while let pointer = unsafe pipes.answers.receive() {
            pending -= 1
            finished += 1
            unsafe Unmanaged<Call>.fromOpaque(pointer).takeRetainedValue().finish()
        }
    }

    /// Waits until a call has brought something to its end.
    func wait(for completion: Completion, until deadline: Deadline) {
        while !completion.isDone, !deadline.hasPassed {
            var descriptor = pollfd(
                fd: pipes.descriptor.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&descriptor, 1, deadline.milliseconds(max: 20))
            pipes.descriptor.drain()
            finishCalls()
        }
    }

    /// The thread ends after the calls that it has got; their `finish` never runs.
    deinit { unsafe pipes.requests.send(nil) }

    private static let serve:
        @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
            { context in
                let pipes = unsafe Unmanaged<CallPipes>.fromOpaque(context!).takeRetainedValue()
                while let pointer = unsafe pipes.requests.receive() {
                    unsafe Unmanaged<Call>.fromOpaque(pointer).takeUnretainedValue().work()
                    unsafe pipes.answers.send(pointer)
                    pipes.descriptor.signal()
                }
                return nil
            }
}

/// What the loop and the thread share; closed when both have let go.
private final class CallPipes {
    let requests = PointerPipe(receivesBlocking: true)
    let answers = PointerPipe(receivesBlocking: false)
    let descriptor: EventDescriptor

    init(descriptor: EventDescriptor) { self.descriptor = descriptor }
}

/// A pipe of pointers: eight bytes are written and read whole.
@safe
private final class PointerPipe {
    private let readEnd: Int32
    private let writeEnd: Int32

    init(receivesBlocking: Bool) {
        var ends: [Int32] = [0, 0]
        let code = unsafe firebridge_pipe(&ends)
        precondition(code == 0, "no file descriptor is left for a pipe: errno \(errno)")
        (readEnd, writeEnd) = (ends[0], ends[1])
        if !receivesBlocking { _ = fcntl(readEnd, F_SETFL, O_NONBLOCK) }
    }

    func send(_ pointer: UnsafeMutableRawPointer?) {
        var bits = UInt(bitPattern: pointer)
        let count = unsafe write(writeEnd, &bits, MemoryLayout<UInt>.size)
        precondition(count == MemoryLayout<UInt>.size, "a pipe of pointers is broken: \(errno)")
    }

    /// The next pointer; nil at the end, and at once where nothing is there and it does not block.
    func receive() -> UnsafeMutableRawPointer? {
        var bits: UInt = 0
        while unsafe read(readEnd, &bits, MemoryLayout<UInt>.size) != MemoryLayout<UInt>.size {
            guard errno == EINTR else { return nil }
        }
        return unsafe UnsafeMutableRawPointer(bitPattern: bits)
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }
}
