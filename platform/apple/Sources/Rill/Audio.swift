// rill/audio.h in Swift: the sound of a device through a model. An effect outputs as much sound as it
// takes; a listener outputs frames of the model. Processing a block allocates memory only if it fails.
import CRill

/// Rates, channels and block size of a device, and the rate of the model.
public struct AudioOptions {
    /// Hz of the device.
    public var deviceRate: Int64
    /// Hz of the model; 0: its property rill.sample_rate.
    public var modelRate: Int64 = 0
    /// Channels of the device.
    public var channels: Int32 = 1
    /// Frames of each call, or a divisor of them, for less latency; 0: any.
    public var block: Int64 = 0
    /// Whether `Effect.work` computes pulses in another thread, a pulse later.
    public var worker = false
    /// Channels of the second input; 0: the model has one input.
    public var referenceChannels: Int32 = 0
    /// Zero crossings of the resamplers' sinc, 8 to 256; 0: 32.
    public var crossings: Int32 = 0

    public init(deviceRate: Int64) { self.deviceRate = deviceRate }

    var native: rill_audio_opts {
        var options = rill_audio_opts()
        options.size = UInt32(MemoryLayout<rill_audio_opts>.size)
        options.channels = channels
        options.device_rate = deviceRate
        options.model_rate = modelRate
        options.block = block
        options.worker = worker ? 1 : 0
        options.reference_channels = referenceChannels
        options.crossings = crossings
        return options
    }
}

/// A block of sound in the caller's memory, which must outlive the call that takes it.
public struct Sound {
    var native = rill_sound()

    /// Interleaved samples of full scale 1.
    public init(interleaved: UnsafePointer<Float>, channels: Int, frames: Int) {
        self.init(RILL_SAMPLE_F32, channels, frames)
        native.data = UnsafeMutableRawPointer(mutating: interleaved)
    }

    /// Interleaved samples of full scale 2^15.
    public init(interleaved: UnsafePointer<Int16>, channels: Int, frames: Int) {
        self.init(RILL_SAMPLE_I16, channels, frames)
        native.data = UnsafeMutableRawPointer(mutating: interleaved)
    }

    /// A pointer to the samples of each channel, as AVAudioPCMBuffer.floatChannelData gives them.
    public init(planes: UnsafePointer<UnsafeMutablePointer<Float>>, channels: Int, frames: Int) {
        self.init(RILL_SAMPLE_F32, channels, frames)
        native.planes = UnsafeRawPointer(planes).assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
    }

    private init(_ format: rill_sample_format, _ channels: Int, _ frames: Int) {
        native.size = UInt32(MemoryLayout<rill_sound>.size)
        native.format = format
        native.channels = Int32(channels)
        native.frames = Int64(frames)
    }
}

/// Throw the error of rill_effect_new or rill_listener_new, which set rill_audio_error.
private func checkNew(_ status: rill_status) throws {
    guard status != RILL_OK else { return }
    throw RillError(status: status, description: String(cString: rill_audio_error()))
}

/// Throw the error of another function, which has a name and no text.
private func check(_ status: rill_status) throws {
    guard status != RILL_OK else { return }
    throw RillError(status: status, description: String(cString: rill_status_name(status)))
}

/// Passes sound through a model, delayed by `latency`. One thread at a time uses an effect, except
/// for `work`.
public final class Effect {
    private let handle: OpaquePointer
    /// Owns the memory of a compiled model.
    private let plan: Plan
    /// The lag of the output in frames of the device: exact, and the least possible.
    public let latency: Int64

    /// Play output 0 of a plan with one input, or two with `referenceChannels`.
    public init(_ plan: Plan, _ options: AudioOptions) throws {
        var effect: OpaquePointer?
        var native = options.native
        try checkNew(rill_effect_new(plan.handle, &native, &effect))
        handle = effect!
        self.plan = plan
        latency = rill_effect_latency(handle)
    }

    deinit { rill_effect_free(handle) }

    /// Push a block, and write as many frames to `output`, which may be the memory of `input`.
    /// A model of two inputs needs `reference`, such as the output of the loudspeaker. Return false
    /// if the worker was late: silence replaces frames then, and the stream continues.
    @discardableResult
    public func process(_ input: Sound, reference: Sound? = nil, to output: Sound) throws -> Bool {
        var sound = input.native
        var out = output.native
        let status: rill_status
        if var second = reference?.native {
            status = rill_effect_process_with(handle, &sound, &second, &out)
        } else {
            status = rill_effect_process(handle, &sound, &out)
        }
        if status == RILL_E_STATE { return false }
        try check(status)
        return true
    }

    /// Step the waiting pulses of an effect with a worker, and return their number. Another thread
    /// than that of `process` calls it several times per pulse. During the call, other threads may
    /// only call `process`, `bypass` and `late`.
    @discardableResult
    public func work() -> Int64 { rill_effect_work(handle) }

    /// The number of pulses that a worker finished late since the last reset.
    public var late: Int64 { rill_effect_late(handle) }

    /// Run the steps in `process` instead of `work`, for rendering faster than real time.
    public func offline(_ on: Bool) throws { try check(rill_effect_offline(handle, on ? 1 : 0)) }

    /// Play the input, with the latency of the output, or the output. The switch fades over 5 ms.
    public func bypass(_ on: Bool) throws { try check(rill_effect_bypass(handle, on ? 1 : 0)) }

    /// Return to the state of a new effect.
    public func reset() throws { try check(rill_effect_reset(handle)) }

    /// Return the state of the stream.
    public func save() throws -> [UInt8] {
        var most = 0
        try check(rill_effect_state_size(handle, &most))
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(most, 1), alignment: 8)
        defer { bytes.deallocate() }
        var size = 0
        try check(rill_effect_save(handle, bytes.baseAddress, most, &size))
        return [UInt8](bytes.prefix(size))
    }

    /// Continue a saved stream of an effect with the same model and options. The bytes need not be
    /// trusted; after an error the effect is reset.
    public func load(_ state: [UInt8]) throws {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(state.count, 1), alignment: 8)
        defer { bytes.deallocate() }
        bytes.copyBytes(from: state)
        try check(rill_effect_load(handle, bytes.baseAddress, state.count))
    }
}

/// Analyses sound: blocks of the device go in, frames of the model's outputs come out. One thread at
/// a time uses a listener.
public final class Listener {
    /// Receives new frames of an output, valid until it returns, in the thread that pushes sound.
    public typealias Heard = (_ output: Int, _ frames: UnsafePointer<rill_view>) -> Void

    private let handle: OpaquePointer
    /// Owns the memory of a compiled model.
    private let plan: Plan

    /// Listen with a plan; a model of one channel hears the mean of the device's.
    public init(_ plan: Plan, _ options: AudioOptions) throws {
        var listener: OpaquePointer?
        var native = options.native
        try checkNew(rill_listener_new(plan.handle, &native, &listener))
        handle = listener!
        self.plan = plan
    }

    deinit { rill_listener_free(handle) }

    /// Return the largest lag of an output in frames of the device; -1 if it does not stream.
    public func latency(of output: Int) -> Int64 { rill_listener_latency(handle, output) }

    /// Push a block, and call `heard` with new frames. A model of two inputs needs `reference`.
    public func push(_ input: Sound, reference: Sound? = nil, heard: Heard) throws {
        var sound = input.native
        var second = reference?.native
        try call(heard) { function, user in
            if second != nil {
                return rill_listener_push_with(handle, &sound, &second!, function, user)
            }
            return rill_listener_push(handle, &sound, function, user)
        }
    }

    /// End the stream, and call `heard` with the rest.
    public func finish(heard: Heard) throws {
        try call(heard) { function, user in rill_listener_finish(handle, function, user) }
    }

    /// Return to the state of a new listener.
    public func reset() throws { try check(rill_listener_reset(handle)) }

    /// Call a function of the C API that calls `heard`.
    private func call(_ heard: Heard,
                      _ body: (rill_heard_fn, UnsafeMutableRawPointer) -> rill_status) throws {
        let status = withoutActuallyEscaping(heard) { escaping -> rill_status in
            var function = escaping
            return withUnsafeMutablePointer(to: &function) { user in
                body({ user, output, frames in
                    user!.assumingMemoryBound(to: Heard.self).pointee(output, frames!)
                }, UnsafeMutableRawPointer(user))
            }
        }
        try check(status)
    }
}
