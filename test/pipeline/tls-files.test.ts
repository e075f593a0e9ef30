import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { readCertificates } from '../../api/listeners/certificates.js'
import { demoCertificates } from '../../infra/demo/certificates.js'
import { readKeyPair } from '../../pipeline/tls-files.js'
import { createFolder } from '../rig/folder.js'

const folder = createFolder(t)
const { caFile, certFile, keyFile, clientKeyFile } = demoCertificates(folder)

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const key = readFileSync(keyFile, 'utf8')
const empty = write('empty.pem', '')
const encrypted = write(
  'encrypted.key',
  String(
    createPrivateKey(key).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'secret',
    }),
  ),
)

t.test('line ends and a byte order mark of another system change nothing', async (t) => {
  const crlf = (path: string) => readFileSync(path, 'utf8').replaceAll('\n', '\r\n')
  const files = {
    certFile: write('crlf.pem', `\uFEFF${crlf(certFile)}`),
    keyFile: write('crlf.key', crlf(keyFile)),
  }
  t.match(readKeyPair(files), { cert: /BEGIN CERTIFICATE/, key: /BEGIN/ })
})

t.test('an error names the file that is wrong and what to do', async (t) => {
  const refused = (files: Partial<Parameters<typeof readKeyPair>[0]>, message: RegExp) =>
    t.throws(() => readKeyPair({ certFile, keyFile, ...files }), { message })
  refused({ keyFile: encrypted }, /^\S+encrypted\.key is encrypted; .*: openssl pkey -in /)
  refused({ keyFile: clientKeyFile }, /client\.key is not the key of .*server\.pem; name the key/)
  refused({ keyFile: empty }, /empty\.pem does not contain a private key in PEM format/)
  refused({ keyFile: certFile }, /server\.pem does not contain a private key in PEM format/)
  refused({ certFile: empty }, /empty\.pem does not contain a certificate in PEM format/)
  refused({ certFile: keyFile }, /server\.key does not contain a certificate in PEM format/)
})

t.test('an authority or a list that TLS would ignore is refused', async (t) => {
  const refused = (files: object, message: RegExp) =>
    t.throws(() => readCertificates({ certFile, keyFile, ...files }, 'gateway.mutual.tls'), {
      code: 'LISTENER',
      message,
    })
  refused(
    { clientCaFile: empty },
    /mutual\.tls are not usable: .*empty\.pem does not contain a cert/,
  )
  refused({ clientCaFile: keyFile }, /server\.key does not contain a certificate/)
  refused({ clientCaFile: caFile, crlFile: caFile }, /ca\.pem does not contain a list of revoked/)
})
