import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { Client, type FileInfo, FTPError } from 'basic-ftp'
import { Fault, type FaultCode } from '../../schemas/fault.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { SettingsOf } from '../../schemas/settings/source.js'
import { isPlain, type RemoteFile, type RemoteFiles } from './remote-files.js'

type Ftp = SettingsOf<'ftp'>

const readBytes = 1 << 20

/**
 * Modification times by path. Many listings show minutes only, so the time of each file is requested
 * once, and again when its line in the listing changes.
 */
type Times = Map<string, { readonly line: string; readonly modifiedMs: number }>

type Secret = (reference: SecretReference) => string

/**
 * Connects to an FTP server, over TLS unless the profile disables it: the certificate is verified, and
 * a server without TLS is refused before the password is sent.
 */
export function connectFtp(settings: Ftp, secret: Secret): () => Promise<RemoteFiles> {
  const times: Times = new Map()
  return async () => createRemoteFiles(settings, { client: await connect(settings, secret), times })
}

async function connect(settings: Ftp, secret: Secret): Promise<Client> {
  const { host, port, user, tls, caFile, timeoutMs } = settings
  const client = new Client(timeoutMs)
  try {
    const ca = caFile && readFileSync(caFile)
    const options: ConnectionOptions = { host, minVersion: 'TLSv1.2', ...(ca && { ca }) }
    if (tls === 'implicit') await client.connectImplicitTLS(host, port, options)
    else await client.connect(host, port)
    if (tls === 'explicit') await client.useTLS(options).catch(refuseClear(settings))
    await client.login(user, secret(settings.password))
    await client.useDefaultSettings()
  } catch (error) {
    client.close()
    throw toFault(settings, '', error)
  }
  return client
}

/** An error answer to AUTH TLS means that the server lacks TLS, not that the password is wrong. */
function refuseClear({ host, port }: Ftp): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof FTPError)) throw error
    const detail = `${host}:${port} does not support TLS (${error.message}); tls: off sends everything unencrypted`
    throw new Fault('SOURCE_REFUSED', detail, { cause: error })
  }
}

interface Connected {
  readonly client: Client
  readonly times: Times
}

function createRemoteFiles(settings: Ftp, { client, times }: Connected): RemoteFiles {
  const folder = settings.path
  const at = (name: string) => posix.join(folder, name)
  const ask = <T>(path: string, run: () => Promise<T>) =>
    run().catch((error: unknown) => {
      throw toFault(settings, path, error)
    })
  const look = (path: string) =>
    ask(path, async () => {
      try {
        const bytes = await client.size(path)
        const modifiedMs = (await client.lastMod(path)).getTime()
        const line = times.get(path)?.line
        if (line !== undefined) times.set(path, { line, modifiedMs })
        return { name: posix.basename(path), path, bytes, modifiedMs }
      } catch (error) {
        if (isGone(error)) return undefined
        throw error
      }
    })
  const timed = async ({ name, size, modifiedAt, rawModifiedAt }: FileInfo) => {
    const path = at(name)
    if (modifiedAt) return { name, path, bytes: size, modifiedMs: modifiedAt.getTime() }
    const line = `${size} ${rawModifiedAt}`
    const known = times.get(path)
    if (known?.line === line) return { name, path, bytes: size, modifiedMs: known.modifiedMs }
    const found = await look(path)
    if (found !== undefined) times.set(path, { line, modifiedMs: found.modifiedMs })
    return found
  }
  return {
    list: () =>
      ask(folder, async () => {
        const entries = await client.list(folder)
        if (entries.length === 0) await proveFolder(client, settings)
        const all = entries.filter(({ name }) => !/^\.{1,2}$/.test(name))
        const shown = all.filter((one) => one.isFile && isPlain(one.name))
        const paths = new Set(shown.map(({ name }) => at(name)))
        for (const path of times.keys()) if (!paths.has(path)) times.delete(path)
        const files: RemoteFile[] = all
          .filter((one) => !shown.includes(one))
          .map((one) => toOther(at(one.name), one))
        for (const one of shown) {
          const file = await timed(one)
          if (file !== undefined) files.push(file)
        }
        return files
      }),
    look,
    open: ({ path }, offset) => downloadFrom(client, { settings, path, offset }),
    write: async (name, content) => {
      const part = at(`${name}.part`)
      const source = () => ('path' in content ? content.path : Readable.from([content]))
      await ask(part, async () => {
        await putOver(client, part, () => client.uploadFrom(source(), part))
        await putOver(client, at(name), () => client.rename(part, at(name)))
      })
    },
    move: async (file, name) => {
      const ended = at(settings.endedFolder)
      await ask(ended, async () => {
        await returning(client, () => client.ensureDir(ended))
        const to = posix.join(ended, name)
        await putOver(client, to, () => client.rename(file.path, to))
        times.delete(file.path)
      })
    },
    remove: (path) =>
      ask(path, async () => {
        await client.remove(path).catch(async (error: unknown) => {
          if (!isGone(error)) throw error
          // A file that may not be removed is refused by the same answer as one that is gone.
          if ((await look(path)) !== undefined) throw refusedRemoval(settings, path, error)
        })
        times.delete(path)
      }),
    isOpen: () => !client.closed,
    close: async () => client.close(),
  }
}

/** Where a server puts nothing over a file that is there, that is removed first. */
function putOver(client: Client, path: string, put: () => Promise<unknown>): Promise<unknown> {
  return put().catch(async (error: unknown) => {
    if (!(error instanceof FTPError)) throw error
    await client.remove(path).catch(() => {
      throw error
    })
    return put()
  })
}

/** Goes to another folder and back. */
async function returning(client: Client, go: () => Promise<unknown>): Promise<void> {
  const before = await client.pwd()
  await go()
  await client.cd(before)
}

/** Some servers list a folder that does not exist as an empty one. */
function proveFolder(client: Client, { host, port, user, path }: Ftp): Promise<void> {
  return returning(client, () => client.cd(path)).catch((error: unknown) => {
    if (!(error instanceof FTPError)) throw error
    const detail = `${host}:${port} does not let ${user} into ${path}: ${error.message}; fix path in the profile, or create the folder there`
    throw new Fault('SOURCE_REFUSED', detail, { cause: error })
  })
}

interface Asked {
  readonly settings: Ftp
  readonly path: string
  readonly offset: number
}

/** The bytes from an offset on; where a server cannot begin there, it sends all, and the first are left out. */
async function* downloadFrom(client: Client, asked: Asked): AsyncGenerator<Buffer> {
  const { settings, path, offset } = asked
  const canBegin =
    offset === 0 ||
    (await client.send(`REST ${offset}`).then(
      () => true,
      (error: unknown) => {
        if (error instanceof FTPError && error.code >= 500) return false
        throw toFault(settings, path, error)
      },
    ))
  let spare = canBegin ? 0 : offset
  for await (const bytes of download(client, { ...asked, offset: offset - spare })) {
    const rest = bytes.subarray(spare)
    spare -= bytes.length - rest.length
    if (rest.length > 0) yield rest
  }
}

/** An incomplete download closes the connection, which cannot be used until the download ends. */
async function* download(client: Client, asked: Asked): AsyncGenerator<Buffer> {
  const { settings, path, offset } = asked
  const through = new PassThrough({ highWaterMark: readBytes })
  let isDone = false
  const done = client.downloadTo(through, path, offset).then(
    () => {
      isDone = true
    },
    (error: Error) => void through.destroy(error),
  )
  try {
    for await (const bytes of through) yield bytes as Buffer
    await done
  } catch (error) {
    throw toFault(settings, path, error)
  } finally {
    if (!isDone) client.close()
    through.destroy()
  }
}

function toOther(path: string, one: FileInfo): RemoteFile {
  const kind = one.isDirectory ? 'folder' : one.isSymbolicLink ? 'link' : 'special file'
  const other = isPlain(one.name) ? kind : 'unusable name'
  return { name: one.name, path, bytes: 0, modifiedMs: 0, other }
}

function refusedRemoval({ host, port, user }: Ftp, path: string, cause: unknown): Fault {
  const detail = `${host}:${port} does not let ${user} remove ${path}; grant that on the server, or use ended: mark or leave`
  return new Fault('PERMISSION', detail, { cause })
}

/** 550: the file does not exist or is not accessible. */
function isGone(error: unknown): boolean {
  return error instanceof FTPError && error.code === 550
}

const codes: Readonly<Record<number, FaultCode>> = {
  530: 'SOURCE_LOGIN',
  532: 'SOURCE_LOGIN',
  550: 'PERMISSION',
  553: 'PERMISSION',
}

const certificateCodes = /^(CERT_|ERR_TLS_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_)/

function toFault({ host, port, user }: Ftp, path: string, error: unknown): Fault {
  if (error instanceof Fault) return error
  const { message, code } = error as Error & { readonly code?: string | number }
  const where = `${host}:${port} ${path}`.trim()
  if (error instanceof FTPError) {
    const fault = codes[error.code] ?? (error.code < 500 ? 'SOURCE_UNREACHABLE' : 'SOURCE_REFUSED')
    return new Fault(fault, `${where} answered ${user}: ${message}`, { cause: error })
  }
  if (certificateCodes.test(String(code))) {
    const detail = `${where}: its certificate is not trusted (${message}); set caFile to its authority`
    return new Fault('SOURCE_IDENTITY', detail, { cause: error })
  }
  return new Fault('SOURCE_UNREACHABLE', `${where}: ${message}`, { cause: error })
}
