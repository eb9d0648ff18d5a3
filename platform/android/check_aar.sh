#!/usr/bin/env bash
# Make an archive of libraries for this machine, unpack it, and build against its content.
#   platform/android/check_aar.sh BUILD
# BUILD has librill and librill_jni; Linux on x86-64 replaces Android's x86_64. The script also checks
# that invalid input is refused: a library for another architecture, one for small pages, and no library.
set -euo pipefail
build=$(realpath "${1:?expected a build folder}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/libraries"
cp "$build/java/librill_jni.so" "$scratch/libraries/"
cp -L "$build/api/librill.so" "$scratch/libraries/"

scripts/package_aar.sh "$scratch/rill.aar" "x86_64=$scratch/libraries" >/dev/null
scripts/package_aar.sh "$scratch/again.aar" "x86_64=$scratch/libraries" >/dev/null
python3 -m zipfile -e "$scratch/rill.aar" "$scratch/aar"
cd "$scratch/aar"
for file in AndroidManifest.xml R.txt proguard.txt classes.jar jni/x86_64/librill_jni.so \
  prefab/prefab.json prefab/modules/rill/module.json \
  prefab/modules/rill/libs/android.x86_64/{abi.json,librill.so} \
  prefab/modules/rill/include/rill/{rill.h,rill.hpp,audio.hpp}; do
  [[ -e $file ]] || { echo "check_aar.sh: there is no $file" >&2; exit 1; }
done
for file in prefab/prefab.json prefab/modules/rill/module.json \
  prefab/modules/rill/libs/android.x86_64/abi.json; do
  python3 -m json.tool "$file" >/dev/null
done
python3 -c 'import sys, xml.dom.minidom as x; x.parse("AndroidManifest.xml")'

# A native app, built as with prefab, and an app in Java.
root=$OLDPWD
module=prefab/modules/rill
cc -std=c99 -I$module/include "$root/examples/stream_c.c" -o app \
  -L$module/libs/android.x86_64 -lrill -Wl,-rpath,"$PWD/lib"
mkdir lib
cp $module/libs/android.x86_64/librill.so lib/
ln -s librill.so "lib/$(objdump -p lib/librill.so | awk '$1 == "SONAME" { print $2 }')"
./app "$root/tests/models/kws_gru/model.nnef.tgz" >/dev/null
cat >App.java <<'JAVA'
public final class App {
  public static void main(String[] arguments) {
    try (rill.Model model = rill.Model.load(arguments[0]).set("B", 1).pulse("S", 8);
         rill.Plan plan = model.prepare();
         rill.Session session = plan.open()) {
      session.step();
      System.out.println(session.output(0).getFloat(0));
    }
  }
}
JAVA
javac -cp classes.jar App.java
java -Drill.library="$PWD/jni/x86_64/librill_jni.so" -cp classes.jar:. App \
  "$root/tests/models/kws_gru/model.nnef.tgz" >/dev/null
# The classes must not need Android, so that they run on any JVM.
if unzip -p classes.jar 'rill/*.class' 2>/dev/null | grep -aq 'android/'; then
  echo "check_aar.sh: the classes need Android" >&2
  exit 1
fi

cd "$root"
refused() {
  local why=$1
  shift
  if scripts/package_aar.sh "$scratch/bad.aar" "$@" >/dev/null 2>"$scratch/why"; then
    echo "check_aar.sh: $* was taken" >&2
    exit 1
  fi
  grep -q "$why" "$scratch/why" || { cat "$scratch/why" >&2; exit 1; }
}
refused "not a library for arm64-v8a" "arm64-v8a=$scratch/libraries"
refused "expected ABI=FOLDER" "mips=$scratch/libraries"
mkdir "$scratch/small" "$scratch/none"
cc -shared -x c /dev/null -Wl,-z,max-page-size=4096 -o "$scratch/small/librill_jni.so"
refused "pages of 16384" "x86_64=$scratch/small"
refused "librill_jni.so" "x86_64=$scratch/none"
echo "check_aar.sh: the archive is whole, and apps are built against it"
