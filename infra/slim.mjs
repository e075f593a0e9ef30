// Removes the binaries of uWebSockets.js that this machine can never load: those of other platforms
// and of Node versions before ours. They are nine tenths of its 257 MB. Binaries of later Node versions
// stay, so that Node can be upgraded without another install. Runs after each install and may be
// repeated; whatever goes wrong only leaves the files where they are.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** process.versions.modules of Node 20, the oldest version in `engines`. */
const abiMin = 115

try {
  const { resolve } = createRequire(import.meta.url)
  const folder = dirname(resolve('uWebSockets.js'))
  const { platform, arch, versions } = process
  const isForeign = (name) => {
    const [, system, machine, abi] = /^uws_([a-z0-9]+)_([a-z0-9]+)_(\d+)\.node$/.exec(name) ?? []
    if (abi === undefined) return false
    return system !== platform || machine !== arch || Number(abi) < abiMin
  }
  // A folder without the binary of this machine is not one that we know.
  if (existsSync(join(folder, `uws_${platform}_${arch}_${versions.modules}.node`))) {
    for (const name of readdirSync(folder).filter(isForeign)) rmSync(join(folder, name))
  }
} catch (error) {
  process.stderr.write(`tieline: kept all binaries of uWebSockets.js: ${error.message}\n`)
}
