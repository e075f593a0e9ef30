import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { demoCertificates } from '../../../../infra/demo/certificates.js'
import { anyPort } from '../../../rig/any-port.js'
import { ensureProgram } from '../../../rig/debian.js'
import { untilListening } from './listening.js'

export interface Vsftpd {
  readonly host: string
  readonly port: number
  /** Ports of its data connections. */
  readonly dataPorts: readonly number[]
  readonly user: string
  readonly password: string
  readonly caFile: string
  close(): Promise<void>
}

export interface VsftpdOptions {
  /** A folder for its configuration. */
  readonly path: string
  readonly tls: 'explicit' | 'implicit' | 'off'
  /** An address of loopback: beside another, something else may stand on the same ports. */
  readonly host?: string
  /** A command that it refuses to everyone. */
  readonly denied?: string
}

const dataPortCount = 8

/** Debian's vsftpd on a port of its own, with the rights of who starts it. */
export async function createVsftpd(options: VsftpdOptions): Promise<Vsftpd> {
  const { path, tls, host = '127.0.0.1', denied } = options
  const program = ensureProgram('/usr/sbin/vsftpd', 'vsftpd')
  const { caFile, certFile, keyFile } = demoCertificates(join(path, 'certificates'))
  const password = 'correct-horse'
  const passwords = join(path, 'passwords')
  writeFileSync(passwords, `${password}\n`, { mode: 0o600 })
  const port = anyPort()
  const settings: Readonly<Record<string, string | number>> = {
    listen: 'YES',
    background: 'NO',
    listen_address: host,
    listen_port: port,
    run_as_launching_user: 'YES',
    seccomp_sandbox: 'NO',
    anonymous_enable: 'YES',
    anon_root: '/',
    anon_upload_enable: 'YES',
    anon_mkdir_write_enable: 'YES',
    anon_other_write_enable: 'YES',
    anon_world_readable_only: 'NO',
    write_enable: 'YES',
    secure_email_list_enable: 'YES',
    email_password_file: passwords,
    use_localtime: 'NO',
    pasv_min_port: port + 1,
    pasv_max_port: port + dataPortCount,
    ...(denied && { cmds_denied: denied }),
    ...(tls !== 'off' && {
      ssl_enable: 'YES',
      allow_anon_ssl: 'YES',
      force_anon_logins_ssl: 'YES',
      force_anon_data_ssl: 'YES',
      implicit_ssl: tls === 'implicit' ? 'YES' : 'NO',
      ssl_tlsv1: 'YES',
      rsa_cert_file: certFile,
      rsa_private_key_file: keyFile,
      require_ssl_reuse: 'YES',
      ssl_ciphers: 'HIGH',
    }),
  }
  const config = join(path, 'vsftpd.conf')
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(config, lines.join(''))
  const child = spawn(program, [config], { stdio: 'ignore' })
  await untilListening(port, host)
  return {
    host,
    port,
    dataPorts: Array.from({ length: dataPortCount }, (_, index) => port + 1 + index),
    user: 'anonymous',
    password,
    caFile,
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}
