/* The calls of rill.Native over rill/audio.h. rill_jni.c registers them. */
#ifndef RILL_AUDIO_JNI_H_
#define RILL_AUDIO_JNI_H_

#include <jni.h>

#include "rill/rill.h"

/* Defined in rill_jni.c. */
void rill_jni_throw(JNIEnv* env, rill_status status, const char* message);
char* rill_jni_at(JNIEnv* env, jobject buffer, jint position);

extern const JNINativeMethod kRillAudioMethods[];
extern const jint kRillAudioMethodCount;

#endif
