// rill.h in Swift: load a model, prepare it, step it. Calls that can fail throw `RillError`; steps allocate
// memory only when they fail.
import CRill

public struct RillError: Error, CustomStringConvertible {
    public let status: rill_status
    public let description: String

    static func check(_ status: rill_status) throws {
        guard status != RILL_OK else { return }
        throw RillError(status: status, description: String(cString: rill_last_error()))
    }
}

/// The model of a file. A model belongs to one thread at a time.
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

    /// Make the model a stream of `frames` frames per step: "480", "auto", "auto:max_latency=1600".
    public func pulse(_ symbol: String, _ frames: String) throws {
        try RillError.check(rill_model_pulse(handle, symbol, frames))
    }

    /// Compute whole windows of `left + step + right` frames per step, for models that cannot stream
    /// exactly. Each step gives the `step` frames in the middle, which differ from the whole run's.
    public func window(_ symbol: String, left: Int64, step: Int64, right: Int64) throws {
        try RillError.check(rill_model_window(handle, symbol, left, step, right))
    }

    public func prepare() throws -> Plan {
        var plan: OpaquePointer?
        try RillError.check(rill_prepare(handle, nil, &plan))
        return Plan(plan!)
    }
}

/// A prepared model, shared by any number of threads.
public final class Plan: @unchecked Sendable {
    let handle: OpaquePointer
    /// A copy of a compiled model's bytes, which the plan reads in place.
    private let memory: UnsafeMutableRawPointer?

    init(_ handle: OpaquePointer) {
        self.handle = handle
        memory = nil
    }

    /// Open the file of a compiled model, as `rill compile` writes it. Its weights stay in the file.
    public init(path: String) throws {
        var plan: OpaquePointer?
        try RillError.check(rill_plan_open(path, &plan))
        handle = plan!
        memory = nil
    }

    /// Open a compiled model in memory. The bytes are copied and may be freed afterwards.
    public init(bytes: UnsafeRawBufferPointer) throws {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 64)
        if let from = bytes.baseAddress {
            copy.copyMemory(from: from, byteCount: bytes.count)
        }
        var plan: OpaquePointer?
        do {
            try RillError.check(rill_plan_map(copy, bytes.count, &plan))
        } catch {
            copy.deallocate()
            throw error
        }
        handle = plan!
        memory = copy
    }

    deinit {
        rill_plan_release(handle)
        memory?.deallocate()
    }

    public func open() throws -> Session {
        var session: OpaquePointer?
        try RillError.check(rill_session_new(handle, &session))
        return try Session(session!, of: self)
    }
}

/// One run or one stream of a plan, for one thread at a time. `step` is fit for an audio callback.
public final class Session {
    /// Null after `close`; rill refuses null in every call.
    private(set) var handle: OpaquePointer?
    /// Owns the memory of a compiled model.
    private let plan: Plan
    /// The buffers of inputs and outputs, until `close` or the end of the session.
    public let inputs: [UnsafeMutableRawPointer]
    public let outputs: [UnsafeMutableRawPointer]

    init(_ handle: OpaquePointer, of plan: Plan) throws {
        self.handle = handle
        self.plan = plan
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
            inputs = try buffers(rill_plan_count(plan.handle, RILL_INPUT), rill_input_buffer)
            outputs = try buffers(rill_plan_count(plan.handle, RILL_OUTPUT), rill_output_buffer)
        } catch {
            rill_session_free(handle)
            throw error
        }
    }

    deinit { rill_session_free(handle) }

    /// Free the session before the end of its scope. A second call does nothing; later steps throw.
    public func close() {
        rill_session_free(handle)
        handle = nil
    }

    /// Run the whole graph, or the next pulse.
    public func step() throws { try RillError.check(rill_step(handle)) }

    /// Return to the state of a new session.
    public func reset() throws { try RillError.check(rill_session_reset(handle)) }
}
