import Glibc
import Synchronization
public import Testing

/// Tests that wait for processes run on threads of their own. Swift's pool has one thread a
/// processor: a test that waits holds one, and the others queue behind it.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// The tests inside a suite have it as well.
    public let isRecursive = true

    /// Runs a test where waiting keeps nobody else.
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(Workers.shared) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    /// Its tests wait for processes.
    public static var ownThreads: Self { Self() }
}

/// So many tests wait at once, beside those of the pool: more would only wait for a processor.
@safe private final class Workers: TaskExecutor {
    static let shared = Workers(count: 4)

    private let jobs = Mutex<[UnownedJob]>([])
    private nonisolated(unsafe) let ready: UnsafeMutablePointer<sem_t>

    init(count: Int) {
        unsafe ready = .allocate(capacity: 1)
        unsafe sem_init(ready, 0, 0)
        for _ in 0..<count {
            var thread = pthread_t()
            let code = unsafe pthread_create(
                &thread, nil,
                { context in
                    unsafe Unmanaged<Workers>.fromOpaque(context!).takeUnretainedValue().work()
                }, Unmanaged.passRetained(self).toOpaque())
            precondition(code == 0, "no thread for tests: \(code)")
        }
    }

    private func work() -> Never {
        while true {
            while unsafe sem_wait(ready) != 0 {}
            let job = jobs.withLock { $0.removeFirst() }
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        unsafe sem_post(ready)
    }
}
