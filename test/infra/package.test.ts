import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { t } from 'tap'
import { packageRoot, packageVersion } from '../../infra/package-root.js'
import { createFolder } from '../rig/folder.js'
import { running, writer } from './clickhouse/running.js'

const root = packageRoot(import.meta.url)
const run = promisify(execFile)
const clean = { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'] }

/** Runs a program; its exit code and output, without an error for another code than 0. */
async function outcome(args: readonly string[], env: NodeJS.ProcessEnv = clean) {
  const done = await run(process.execPath, args, { env }).catch((error: unknown) => {
    return error as { code: number; stdout: string; stderr: string }
  })
  return { code: 'code' in done ? done.code : 0, stdout: done.stdout, stderr: done.stderr }
}

t.test('the package runs without the embedded engine, and says what is missing', async (t) => {
  const folder = createFolder(t)
  const packing = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const { stdout: packed } = await run('npm', packing, { cwd: root })
  const [{ filename, files, size }] = JSON.parse(packed) as [
    { filename: string; size: number; files: readonly { path: string }[] },
  ]
  const names = files.map(({ path }) => path)
  t.same(
    names.filter((name) => /^(test|dist\/(test|benchmarks))\//.test(name)),
    [],
  )
  t.ok(size < 2e6, `${size} bytes`)
  await run('tar', ['-xzf', join(folder, filename), '-C', folder])
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== 'chdb' && name !== '@chdb') {
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
    }
  }
  const main = join(folder, 'package', 'dist', 'infra', 'main.js')
  const tieline = (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    outcome([main, ...args, '--home', join(folder, 'data')], { ...clean, ...more })
  const missing =
    /the embedded ClickHouse \(npm package chdb, optional\) is not installed: install again without --omit=optional, or set CLICKHOUSE_URL to a ClickHouse server/

  t.match(await tieline(['--version']), { code: 0, stdout: packageVersion() })
  t.match(await tieline(['doctor']), { code: 1, stdout: /✗ ClickHouse +MISSING_PROGRAM: / })
  t.match((await tieline(['doctor'])).stdout, missing)
  const file = join(folder, 'DEMO_05032024_Gas.csv')
  writeFileSync(file, 'AccountNumber\n')
  for (const args of [['up'], ['check', file]]) {
    t.match(await tieline(args), { code: 1, stderr: missing }, args.join(' '))
  }
  const { store } = await running(t)
  const url = new URL(store.url)
  url.username = writer.user
  url.password = encodeURIComponent(writer.password)
  const external = { CLICKHOUSE_URL: url.href }
  const looked = await tieline(['doctor'], external)
  t.match(looked, { stdout: /[✓!] ClickHouse +CLICKHOUSE_URL http:\S+ OK, version / })
  t.match(await tieline(['migrate'], external), { code: 0 })
})

/** Bytes of the files of a folder, without the packages that are nested in it. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .map((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return bytesOf(path)
      return entry.isFile() ? statSync(path).size : 0
    })
    .reduce((sum, bytes) => sum + bytes, 0)
}

t.test('an install without the engine and the development tools is below 150 MB', async (t) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean }>
  }
  const installed = Object.entries(packages).flatMap(([path, { dev, optional }]) => {
    const folder = join(root, path)
    return path === '' || dev || optional || !existsSync(folder) ? [] : [folder]
  })
  t.ok(installed.length > 100, `${installed.length} packages`)
  const bytes = installed.reduce((sum, folder) => sum + bytesOf(folder), 0)
  t.comment(`${Math.round(bytes / 1e6)} MB in ${installed.length} packages`)
  t.ok(bytes < 150e6, `${bytes} bytes`)
})

/** A package of uWebSockets.js with the names of all binaries and the content of this machine's. */
function placePackage(folder: string, own: boolean): string {
  const from = join(root, 'node_modules', 'uWebSockets.js')
  const place = join(folder, 'node_modules', 'uWebSockets.js')
  mkdirSync(place, { recursive: true })
  mkdirSync(join(folder, 'infra'))
  cpSync(join(root, 'infra', 'slim.mjs'), join(folder, 'infra', 'slim.mjs'))
  const { platform, arch, versions } = process
  const ours = `uws_${platform}_${arch}_${versions.modules}.node`
  for (const name of ['package.json', 'uws.js', ...(own ? [ours] : [])]) {
    cpSync(join(from, name), join(place, name))
  }
  for (const system of ['linux_x64', 'linux_arm64', 'linux_arm', 'darwin_arm64', 'win32_x64']) {
    for (const abi of [83, 108, 115, 127, 137]) {
      const path = join(place, `uws_${system}_${abi}.node`)
      if (!existsSync(path) && !path.endsWith(ours)) writeFileSync(path, '')
    }
  }
  return place
}

t.test('after an install only the binaries of this platform are left', async (t) => {
  const folder = createFolder(t)
  const place = placePackage(folder, true)
  const slim = join(folder, 'infra', 'slim.mjs')
  const here = `uws_${process.platform}_${process.arch}_`
  const kept = [115, 127, 137].map((abi) => `${here}${abi}.node`)
  for (const time of ['once', 'again']) {
    t.match(await outcome([slim]), { code: 0, stdout: '', stderr: '' }, time)
    t.same(
      readdirSync(place)
        .filter((name) => name.endsWith('.node'))
        .sort(),
      kept,
      time,
    )
  }
  const load = `require('${place}').App().close(); console.log('loaded')`
  t.match(await outcome(['--eval', load]), { code: 0, stdout: 'loaded\n' })
})

t.test('an install that the script does not know is left as it is', async (t) => {
  const folder = createFolder(t)
  const place = placePackage(folder, false)
  const before = readdirSync(place)
  const slim = join(folder, 'infra', 'slim.mjs')
  t.match(await outcome([slim]), { code: 0, stderr: '' })
  t.same(readdirSync(place), before)
  const bare = join(createFolder(t), 'slim.mjs')
  cpSync(slim, bare)
  t.match(await outcome([bare]), { code: 0, stderr: /kept all binaries of uWebSockets\.js: / })
})

t.test('the script is run by each kind of install', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.equal(scripts.postinstall, 'node infra/slim.mjs')
  t.match(readFileSync(join(root, 'infra/deploy/Dockerfile'), 'utf8'), /node infra\/slim\.mjs/)
})
