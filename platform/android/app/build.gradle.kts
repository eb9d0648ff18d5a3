plugins {
    id("com.android.application") version "8.7.0"
    kotlin("android") version "2.0.21"
}

android {
    namespace = "rill.example"
    compileSdk = 35
    defaultConfig {
        applicationId = "rill.example"
        minSdk = 24
        targetSdk = 35
        externalNativeBuild {
            cmake { arguments("-DANDROID_STL=c++_shared", "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON") }
        }
        ndk { abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64") }
    }
    buildFeatures { prefab = true }
    externalNativeBuild { cmake { path("src/main/cpp/CMakeLists.txt") } }
    kotlinOptions { jvmTarget = "17" }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
}

dependencies {
    implementation(files("libs/rill.aar"))
    implementation("com.google.oboe:oboe:1.9.0")
}
