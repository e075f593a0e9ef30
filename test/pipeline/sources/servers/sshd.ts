import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../api/identity/provider.js'
import { ensureProgram } from '../../../rig/debian.js'
import { untilListening } from './listening.js'

export interface Sshd {
  readonly port: number
  readonly user: string
  /** A private key that the server lets in. */
  readonly keyPath: string
  /** One that it does not. */
  readonly otherKeyPath: string
  readonly fingerprint: string
  /** What the settings of a source need to log in. */
  readonly login: {
    readonly user: string
    readonly key: { readonly file: string }
    readonly hostKeys: readonly string[]
  }
  close(): Promise<void>
}

/**
 * Debian's OpenSSH server with keys of its own in `path`, on a free port of loopback; `denied` are
 * requests that it does not know, as servers of others. `program` runs instead of its SFTP server.
 */
export async function createSshd(
  path: string,
  { denied, program: own }: { readonly denied?: string; readonly program?: string } = {},
): Promise<Sshd> {
  const program = ensureProgram('/usr/sbin/sshd', 'openssh-server')
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const keyAt = (name: string) => {
    const key = join(path, name)
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
    return key
  }
  const hostKey = keyAt('host')
  const keyPath = keyAt('client')
  const otherKeyPath = keyAt('other')
  const authorized = join(path, 'authorized_keys')
  writeFileSync(authorized, readFileSync(`${keyPath}.pub`), { mode: 0o600 })
  const port = await freePort()
  const config = join(path, 'sshd_config')
  writeFileSync(
    config,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${hostKey}`,
      `AuthorizedKeysFile ${authorized}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin prohibit-password',
      'StrictModes no',
      'UsePAM no',
      'PidFile none',
      'MaxStartups 100',
      `Subsystem sftp ${own ?? `internal-sftp${denied === undefined ? '' : ` -P ${denied}`}`}`,
      '',
    ].join('\n'),
  )
  const child = spawn(program, ['-D', '-e', '-f', config], { stdio: 'ignore' })
  await untilListening(port)
  const user = userInfo().username
  const fingerprint = fingerprintOf(`${hostKey}.pub`)
  return {
    port,
    user,
    keyPath,
    otherKeyPath,
    fingerprint,
    login: { user, key: { file: keyPath }, hostKeys: [fingerprint] },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

function fingerprintOf(publicKeyPath: string): string {
  const said = execFileSync('ssh-keygen', ['-lf', publicKeyPath], { encoding: 'utf8' })
  return /SHA256:\S+/.exec(said)?.[0] ?? ''
}
