import { createHash, timingSafeEqual } from 'node:crypto'
import { connect as connectTcp, type Socket } from 'node:net'
import { posix } from 'node:path'
import { promisify } from 'node:util'
import type { AuthenticationType, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2'
import Client from 'ssh2-sftp-client'
import { Fault, type FaultCode } from '../../schemas/fault.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { SettingsOf } from '../../schemas/settings/source.js'
import { withDeadline } from '../deadline.js'
import { type ConnectionEnd, createEnd, noResponse } from './answering.js'
import { readAhead } from './read-ahead.js'
import { isPlain, otherKindOf, type RemoteFile, type RemoteFiles } from './remote-files.js'

type Sftp = SettingsOf<'sftp'>
type Secret = (reference: SecretReference) => string

/**
 * Bytes of a request, the most that OpenSSH returns, and concurrent requests: more than the library's
 * window of 2 MB, so that the server reads while we write.
 */
const blockBytes = 261_120
const blocksAhead = 16

/**
 * Connects to an SFTP server with one of the profile's pinned host keys. Another key ends the
 * connection before a password or a signature is sent; the fault shows its fingerprint.
 */
export function connectSftp(settings: Sftp, secret: Secret): () => Promise<RemoteFiles> {
  return () => connect(settings, secret)
}

async function connect(settings: Sftp, secret: Secret): Promise<RemoteFiles> {
  const where = `${settings.host}:${settings.port}`
  const seen: { shown?: string; level?: string } = {}
  const ended = createEnd()
  const client = new Client(where, {
    error: () => undefined,
    end: () => undefined,
    close: () => undefined,
  })
  client.on('error', (error: { level?: string }) => {
    seen.level ??= error.level ?? ''
  })
  client.on('close', ended.end)
  const socket = openSocket(settings)
  const open = async () => {
    const { key, passphrase, password } = settings
    if (password) client.on('keyboard-interactive', answerWith(secret(password)))
    return client.connect({
      sock: socket,
      username: settings.user,
      ...(key && { privateKey: secret(key) }),
      ...(passphrase && { passphrase: secret(passphrase) }),
      ...(password && { password: secret(password), tryKeyboard: true }),
      authHandler: createLogin(settings),
      readyTimeout: settings.timeoutMs,
      keepaliveInterval: Math.ceil(settings.timeoutMs / 4),
      keepaliveCountMax: 3,
      hostVerifier: (key: Buffer) => {
        seen.shown = fingerprintOf(key)
        return settings.hostKeys.some((pinned) => isEqual(pinned, seen.shown ?? ''))
      },
    })
  }
  const { timeoutMs } = settings
  // One time for the login, one for the SFTP program behind it.
  const sftp = await withDeadline(open(), 2 * timeoutMs, () => {
    throw new Error(noResponse(timeoutMs))
  }).catch(async (error: Error) => {
    socket.destroy()
    await client.end().catch(() => undefined)
    throw refusal(settings, seen, error)
  })
  sftp.once('close', () => {
    ended.end()
    socket.destroy()
  })
  ended.giveUpIfSilent(timeoutMs, {
    ask: () => promisify<string, string>(sftp.realpath.bind(sftp))('.'),
    giveUp: () => socket.destroy(),
  })
  return createRemoteFiles(settings, { client, sftp, ended })
}

/** Answers each question of a server's dialogue with the password. */
function answerWith(password: string) {
  return (...asked: readonly unknown[]) => {
    const [prompts, finish] = asked.slice(3) as [unknown[], (answers: string[]) => void]
    finish(prompts.map(() => password))
  }
}

/**
 * What is tried in turn, each once, as a server bans who tries too often. The password is given in a dialogue
 * where the server takes it in no other way.
 */
function createLogin({ key, password }: Sftp) {
  const ways: AuthenticationType[] = ['none']
  if (password) ways.push('password')
  if (key) ways.push('publickey')
  return (left: readonly AuthenticationType[] | null) => {
    const way = ways.shift()
    const isAsked = way === 'password' && left?.includes('password') === false
    return (isAsked ? 'keyboard-interactive' : way) ?? false
  }
}

/**
 * A socket without Nagle's delay. The library's own would hold a request back until the one before is
 * acknowledged, which halves the speed.
 */
function openSocket({ host, port }: Sftp): Socket {
  return connectTcp({ host, port, noDelay: true }).on('error', () => undefined)
}

/** A key's fingerprint as OpenSSH writes it. */
function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

function refusal(
  settings: Sftp,
  seen: { readonly shown?: string; readonly level?: string },
  cause: Error,
): Fault {
  if (cause instanceof Fault) return cause
  const { host, port, user, hostKeys } = settings
  const { shown, level } = seen
  if (shown !== undefined && !hostKeys.some((pinned) => isEqual(pinned, shown))) {
    return new Fault(
      'SOURCE_IDENTITY',
      `${host}:${port} shows the key ${shown}, which is not in hostKeys (${hostKeys.join(', ')}); pin it only if the server's operator confirms it`,
      { cause },
    )
  }
  if (level === 'client-authentication') {
    const detail = `${host}:${port} refused ${user}: wrong key or password`
    return new Fault('SOURCE_LOGIN', detail, { cause })
  }
  if (/privateKey|passphrase/.test(cause.message) && shown === undefined) {
    const detail = `the private key for ${user}@${host} cannot be read: ${cause.message}`
    return new Fault('SOURCE_LOGIN', detail, { cause })
  }
  return new Fault('SOURCE_UNREACHABLE', `${host}:${port}: ${cause.message}`, { cause })
}

interface Connected {
  readonly client: Client
  readonly sftp: SFTPWrapper
  readonly ended: ConnectionEnd
}

function createRemoteFiles(settings: Sftp, { client, sftp, ended }: Connected): RemoteFiles {
  const { isOpen } = ended
  const folder = settings.path
  const at = (name: string) => posix.join(folder, name)
  const ask = <T>(what: string, run: () => Promise<T>) =>
    ended.orFail(run).catch((error: Error & { code?: number | string }) => {
      throw toFault(settings, what, error)
    })
  const replace = (from: string, to: string) =>
    ask(to, async () => {
      if (await moveOver(sftp, from, to)) return
      await client.delete(to, true)
      await client.rename(from, to)
    })
  return {
    list: () =>
      ask(folder, async () => {
        const entries = await promisify<string, FileEntryWithStats[]>(sftp.readdir.bind(sftp))(
          folder,
        )
        return entries
          .filter(({ filename }) => filename !== '.' && filename !== '..')
          .map(({ filename, longname, attrs }) => {
            const other = isPlain(filename) ? otherKindOf(typed(attrs, longname)) : 'unusable name'
            return { ...toFile(at(filename), attrs), name: filename, other }
          })
      }),
    look: (path) =>
      ask(path, async () => {
        const found = await promisify<string, Stats>(sftp.lstat.bind(sftp))(path).catch(unlessGone)
        return found && typed(found).isFile() ? toFile(path, found) : undefined
      }),
    open: async function* (file, offset) {
      const { path, bytes } = file
      const handle = await ask(path, () => promisify(openFile)(sftp, path))
      const fill = (block: Buffer, from: number) =>
        ask(path, () => fillBlock(sftp, handle, { block, from }))
      try {
        // One byte more shows a size that is too small.
        yield* readAhead(fill, { from: offset, to: bytes + 1, blockBytes, blocksAhead })
      } finally {
        if (isOpen()) sftp.close(handle, () => undefined)
      }
    },
    write: async (name, content) => {
      const part = at(`${name}.part`)
      await ask(part, () => client.put('path' in content ? content.path : content, part))
      await replace(part, at(name))
    },
    move: async (file, name) => {
      const ended = at(settings.endedFolder)
      await ask(ended, async () => (await client.exists(ended)) || client.mkdir(ended, true))
      await replace(file.path, posix.join(ended, name))
    },
    remove: (path) =>
      ask(path, async () => {
        await client.delete(path, true)
      }),
    isOpen,
    close: async () => {
      await ended.orFail(() => client.end()).catch(() => undefined)
    },
  }
}

/**
 * Moves a file over an existing one in one step; false if the server lacks this extension of OpenSSH,
 * in which case the library throws immediately.
 */
function moveOver(sftp: SFTPWrapper, from: string, to: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    try {
      sftp.ext_openssh_rename(from, to, (error) => (error ? reject(error) : resolve(true)))
    } catch {
      resolve(false)
    }
  })
}

const typeBits = 0o170_000
const file = 0o100_000
const others: Readonly<Record<string, number>> = { d: 0o040_000, l: 0o120_000, p: 0o010_000 }

/** Some servers send no mode, or one without the type. What then says it is the line that they show to people. */
function typed(found: Stats, line = ''): Stats {
  if ((found.mode & typeBits) === 0) found.mode |= others[line.charAt(0)] ?? file
  return found
}

/** Some servers send no time or size. */
function toFile(path: string, { size = 0, mtime = 0 }: Partial<Stats>): RemoteFile {
  return { name: posix.basename(path), path, bytes: size, modifiedMs: mtime * 1_000 }
}

function openFile(
  sftp: SFTPWrapper,
  path: string,
  done: (error: Error | null | undefined, handle: Buffer) => void,
): void {
  sftp.open(path, 'r', done)
}

/** Reads until the block is full or the file ends: a server may return fewer bytes than requested. */
function fillBlock(
  sftp: SFTPWrapper,
  handle: Buffer,
  { block, from }: { readonly block: Buffer; readonly from: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const read = (filled: number) => {
      sftp.read(handle, block, filled, block.length - filled, from + filled, (error, count) => {
        if (error) reject(error)
        else if (count === 0 || filled + count === block.length) resolve(filled + count)
        else read(filled + count)
      })
    }
    read(0)
  })
}

const noSuchFile = 2
const permissionDenied = 3

function unlessGone(error: Error & { code?: number }): undefined {
  if (error.code !== noSuchFile) throw error
}

function toFault(settings: Sftp, what: string, error: Error & { code?: number | string }): Fault {
  const where = `${settings.host} ${what}`
  const { code } = error
  const [fault, detail]: readonly [FaultCode, string] =
    code === permissionDenied
      ? ['PERMISSION', `${where}: access denied; grant ${settings.user} access on the server`]
      : typeof code === 'number'
        ? ['SOURCE_REFUSED', `${where}: ${error.message}`]
        : ['SOURCE_UNREACHABLE', `${where}: ${error.message}`]
  return error instanceof Fault ? error : new Fault(fault, detail, { cause: error })
}
