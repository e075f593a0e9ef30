import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../infra/package-root.js'

/**
 * Other builds of the engine that npm has, by the version of the package `chdb`: their ClickHouse. That of
 * 3.0.1 (26.5) looks for its library on the machine that it was made on.
 */
export const engineBuilds: Readonly<Record<string, string>> = {
  '3.1.0': '26.5',
  '3.2.0': '26.5',
  '3.3.0': '26.7',
}

/** A build of the embedded engine, as Tieline finds it. */
const library = join('@chdb', 'lib-linux-x64-gnu')
/** The one name that builds for a later C++ library ask of it, and do not use. */
const laterVersion = 'GLIBCXX_3.4.32'

/**
 * What `chdb` 3.4.0 has and earlier ones lack: two functions, and a configuration, so that readers have
 * the writer's rights.
 */
const shim = `const addon = require('./chdb_node.node')
module.exports = {
  ...addon,
  EngineVersion: () => require('./package.json').version,
  DurableClassifyAsync: async () => ({ statementCount: 1 }),
  QueryAsyncConnection: (connection, sql, format) =>
    addon.QueryAsyncConnection(connection, sql.replace(/^SET ROLE [^;]*;/, ''), format),
}
`

/** Makes the project with another build of the engine in an empty folder; all else are links to this one. */
export function makeProjectWith(version: string, folder: string): void {
  const root = packageRoot(import.meta.url)
  const modules = join(folder, 'node_modules')
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', `chdb@${version}`]
  execFileSync('npm', install, { stdio: 'pipe' })
  renameSync(modules, join(folder, 'engine'))
  mkdirSync(modules)
  for (const name of ['chdb', '@chdb']) {
    renameSync(join(folder, 'engine', name), join(modules, name))
  }
  linkAll(join(root, 'node_modules'), modules)
  const own = readdirSync(folder)
  for (const name of readdirSync(root)) {
    if (own.includes(name) && !name.startsWith('package')) continue
    if (name === 'dist') cpSync(join(root, name), join(folder, name), { recursive: true })
    else if (name.startsWith('package')) cpSync(join(root, name), join(folder, name))
    else if (!name.startsWith('.')) symlinkSync(join(root, name), join(folder, name))
  }
  writeFileSync(join(modules, library, 'index.js'), shim)
  forgoVersion(join(modules, library, 'chdb_node.node'), laterVersion)
}

/** Links what is not there yet. */
function linkAll(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    if (!existsSync(join(to, name))) symlinkSync(join(from, name), join(to, name))
  }
}

const needsType = 0x6ffffffe
const isWeak = 2

/**
 * Marks a version that a library (ELF of 64 bits) needs of another one as one that may be missing, if it
 * names that version. Fields: `Elf64_Ehdr`, `Elf64_Shdr`, `Elfxx_Verneed` and `Elfxx_Vernaux`.
 */
function forgoVersion(path: string, version: string): void {
  const bytes = readFileSync(path)
  const long = (at: number) => Number(bytes.readBigUInt64LE(at))
  const header = (index: number) => long(0x28) + index * bytes.readUInt16LE(0x3a)
  for (let index = 0; index < bytes.readUInt16LE(0x3c); index++) {
    const section = header(index)
    if (bytes.readUInt32LE(section + 4) !== needsType) continue
    const names = long(header(bytes.readUInt32LE(section + 0x28)) + 0x18)
    for (const at of entriesOf(bytes, long(section + 0x18))) {
      const from = names + bytes.readUInt32LE(at + 8)
      if (bytes.toString('latin1', from, bytes.indexOf(0, from)) !== version) continue
      bytes.writeUInt16LE(bytes.readUInt16LE(at + 4) | isWeak, at + 4)
    }
  }
  writeFileSync(path, bytes)
}

/** Where each version is that each library is asked for. */
function entriesOf(bytes: Buffer, first: number): readonly number[] {
  const found: number[] = []
  for (let need = first, next = -1; next !== 0; need += next) {
    next = bytes.readUInt32LE(need + 12)
    let at = need + bytes.readUInt32LE(need + 8)
    for (let left = bytes.readUInt16LE(need + 2); left > 0; left--) {
      found.push(at)
      at += bytes.readUInt32LE(at + 12)
    }
  }
  return found
}
