package rill.example

import android.Manifest
import android.app.Activity
import android.content.pm.PackageManager
import android.os.Bundle
import android.os.Handler
import android.os.Looper
import android.view.Gravity
import android.widget.TextView

/** Shows the probability of speech by a model. The model is the asset `vad_speech.nnef.tgz`. */
class MainActivity : Activity() {
    private val handler = Handler(Looper.getMainLooper())
    private lateinit var text: TextView
    private var ear = 0L

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        text = TextView(this).apply {
            textSize = 48f
            gravity = Gravity.CENTER
        }
        setContentView(text)
    }

    override fun onResume() {
        super.onResume()
        if (checkSelfPermission(Manifest.permission.RECORD_AUDIO) == PackageManager.PERMISSION_GRANTED) {
            listen()
        } else {
            requestPermissions(arrayOf(Manifest.permission.RECORD_AUDIO), 0)
        }
    }

    override fun onPause() {
        stop()
        super.onPause()
    }

    private fun listen() {
        if (ear != 0L) return
        try {
            ear = Ear.open(assets.open("vad_speech.nnef.tgz").use { it.readBytes() })
            handler.post(::show)
        } catch (failure: IllegalStateException) {
            text.text = failure.message
        }
    }

    private fun stop() {
        handler.removeCallbacksAndMessages(null)
        if (ear != 0L) Ear.close(ear)
        ear = 0
    }

    private fun show() {
        when (val speech = Ear.poll(ear)) {
            Ear.NOTHING_NEW -> {}
            Ear.GONE -> {
                stop()
                listen()
                return
            }
            else -> text.text = "%.2f".format(speech)
        }
        handler.postDelayed(::show, 50)
    }
}
