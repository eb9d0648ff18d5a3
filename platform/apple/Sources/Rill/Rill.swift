// rill.h in Swift: a model is loaded, prepared, stepped. What can fail throws `RillError`; steps throw the
// same without asking for memory unless they fail.
import CRill

public struct RillError: Error, CustomStringConvertible {
    public let status: rill_status
    public let description: String

    static func check(_ status: rill_status) throws {
        guard status != RILL_OK else { return }
        throw RillError(status: status, description: String(cString: rill_last_error()))
    }
}

/// What a file says. A model belongs to one thread at a time.
public final class Model {
    let handle: OpaquePointer

    public init(path: String) throws {
        var model: OpaquePointer?
        try RillError.check(rill_load(path, nil, &model))
        handle = model!
    }

    public init(bytes: UnsafeRawBufferPointer) throws {
        var model: OpaquePointer?
        try RillError.check(rill_load_memory(bytes.baseAddress, bytes.count, nil, &model))
        handle = model!
    }

    deinit { rill_model_free(handle) }

    /// Replace a symbol by a number or an expression in other symbols.
    public func set(_ symbol: String, _ expression: String) throws {
        try RillError.check(rill_model_set_symbol(handle, symbol, expression))
    }

    /// Make it a stream of so many frames per step: "480", "auto", "auto:max_latency=1600".
    public func pulse(_ symbol: String, _ frames: String) throws {
        try RillError.check(rill_model_pulse(handle, symbol, frames))
    }

    public func prepare() throws -> Plan {
        var plan: OpaquePointer?
        try RillError.check(rill_prepare(handle, nil, &plan))
        return Plan(plan!)
    }
}

/// A model made ready to run, shared by any number of threads.
public final class Plan: @unchecked Sendable {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { rill_plan_release(handle) }

    public func open() throws -> Session {
        var session: OpaquePointer?
        try RillError.check(rill_session_new(handle, &session))
        return try Session(session!, inputs: rill_plan_count(handle, RILL_INPUT),
                           outputs: rill_plan_count(handle, RILL_OUTPUT))
    }
}

/// One run or one stream of a plan, for one thread at a time. `step` is fit for an audio callback.
public final class Session {
    let handle: OpaquePointer
    /// Where inputs are read from and outputs are written to, while the session lives.
    public let inputs: [UnsafeMutableRawPointer]
    public let outputs: [UnsafeMutableRawPointer]

    init(_ handle: OpaquePointer, inputs: Int, outputs: Int) throws {
        self.handle = handle
        func buffers(_ count: Int,
                     _ tell: (OpaquePointer?, Int, UnsafeMutablePointer<rill_view>?) -> rill_status)
            throws -> [UnsafeMutableRawPointer] {
            try (0..<count).map { index in
                var view = rill_view()
                view.size = UInt32(MemoryLayout<rill_view>.size)
                try RillError.check(tell(handle, index, &view))
                return view.data
            }
        }
        do {
            self.inputs = try buffers(inputs, rill_input_buffer)
            self.outputs = try buffers(outputs, rill_output_buffer)
        } catch {
            rill_session_free(handle)
            throw error
        }
    }

    deinit { rill_session_free(handle) }

    /// Run the whole graph, or the next pulse.
    public func step() throws { try RillError.check(rill_step(handle)) }

    /// Begin anew.
    public func reset() throws { try RillError.check(rill_session_reset(handle)) }
}
