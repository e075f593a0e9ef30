// Compiles the tree into dist/. What no longer has a source is removed first, so that a deleted
// module or test cannot go on running from its old output.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

const outputs = existsSync(dist)
  ? readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  : []
for (const entry of outputs) {
  const output = join(entry.parentPath, entry.name)
  const source = join(root, relative(dist, output)).replace(/\.js(\.map)?$/, '.ts')
  if (/\.js(\.map)?$/.test(output) && !existsSync(source)) rmSync(output)
}
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const compile = (project) =>
  spawnSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' }).status ?? 1
/** Compiles AssemblyScript, which `tsc` does not know, to WebAssembly. */
const assemble = async (folder, name) => {
  const { main } = await import('assemblyscript/asc')
  const files = [join(root, folder, `${name}.ts`), '--outFile', join(dist, folder, `${name}.wasm`)]
  const { error, stderr } = await main([...files, '-O3', '--runtime', 'stub', '--enable', 'simd'])
  if (error !== null) console.error(stderr.toString())
  return error === null ? 0 : 1
}
// The scripts of the operations page and of reports know a browser and nothing of Node.
process.exitCode =
  compile(root) ||
  compile(join(root, 'infra', 'operations', 'browser')) ||
  (await assemble(join('pipeline', 'usage', 'measure', 'assembly'), 'scan'))
