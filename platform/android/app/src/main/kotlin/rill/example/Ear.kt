package rill.example

/** The microphone and a model that listens to it, both of native code. */
object Ear {
    const val NOTHING_NEW = -1f
    const val GONE = -2f

    init {
        System.loadLibrary("ear")
    }

    @JvmStatic external fun open(model: ByteArray): Long
    @JvmStatic external fun poll(handle: Long): Float
    @JvmStatic external fun close(handle: Long)
}
