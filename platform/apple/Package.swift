// swift-tools-version:5.9
// rill for Swift. scripts/package_xcframework.sh makes rill.xcframework next to this file.
import PackageDescription

let package = Package(
    name: "Rill",
    platforms: [.macOS(.v12), .iOS(.v15)],
    products: [.library(name: "Rill", targets: ["Rill"])],
    targets: [
        .binaryTarget(name: "CRill", path: "rill.xcframework"),
        .target(name: "Rill", dependencies: ["CRill"]),
    ]
)
