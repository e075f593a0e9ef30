import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import ssh2, { type Attributes, type AuthContext, type Session } from 'ssh2'

export interface OddSftp {
  readonly password: string
  /** Of the only file, `/a.csv`; what is left out is not sent. */
  readonly attributes: Partial<Attributes>
  readonly longname?: string
  readonly content?: string
  readonly methods: readonly ('password' | 'keyboard-interactive')[]
}

/** An SFTP server of `ssh2`, which does what OpenSSH's cannot be made to do and servers of others do. */
export async function createOddSftp(odd: OddSftp) {
  const attempts: string[] = []
  // An Ed25519 key of `ssh2` cannot be read back once in 300 times.
  const { private: hostKey, public: shown } = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    client.on('error', () => undefined)
    client.on('authentication', (context) => {
      if (context.method !== 'none') attempts.push(context.method)
      judge(context, odd)
    })
    client.on('session', (accept) => serve(accept(), odd))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    publicKey: Buffer.from(shown.split(' ')[1] ?? '', 'base64'),
    /** What logins tried. */
    attempts,
    close: () => server.close(),
  }
}

function judge(context: AuthContext, { password, methods }: OddSftp): void {
  const answer = (given: string | undefined) => {
    if (given === password) context.accept()
    else context.reject([...methods])
  }
  if (!methods.some((one) => one === context.method)) answer(undefined)
  else if (context.method === 'password') answer(context.password)
  else if (context.method === 'keyboard-interactive') {
    context.prompt([{ prompt: 'Password: ', echo: false }], ([given]) => answer(given))
  }
}

function serve(session: Session, { attributes, longname = '', content = '' }: OddSftp): void {
  const { OK, EOF, NO_SUCH_FILE } = ssh2.utils.sftp.STATUS_CODE
  const attrs = attributes as Attributes
  session.on('sftp', (accept) => {
    const sftp = accept()
    let isRead = false
    sftp.on('OPENDIR', (id) => {
      isRead = false
      sftp.handle(id, Buffer.from('folder'))
    })
    sftp.on('READDIR', (id) => {
      if (isRead) return sftp.status(id, EOF)
      isRead = true
      sftp.name(id, [{ filename: 'a.csv', longname, attrs }])
    })
    sftp.on('LSTAT', (id, path) => {
      if (path === '/a.csv') sftp.attrs(id, attrs)
      else sftp.status(id, NO_SUCH_FILE)
    })
    sftp.on('OPEN', (id) => sftp.handle(id, Buffer.from('file')))
    sftp.on('READ', (id, _, offset, length) => {
      const bytes = Buffer.from(content).subarray(offset, offset + length)
      if (bytes.length === 0) sftp.status(id, EOF)
      else sftp.data(id, bytes)
    })
    sftp.on('CLOSE', (id) => sftp.status(id, OK))
  })
}
