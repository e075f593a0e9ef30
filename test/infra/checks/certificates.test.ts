import { join } from 'node:path'
import t from 'tap'
import { judgeCertificates } from '../../../infra/checks/certificates.js'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'

const dayMs = 86_400_000

t.test(
  'a certificate that has expired, or is not valid yet, is a problem by its file',
  async (t) => {
    const { certFile, keyFile, caFile } = demoCertificates(createFolder(t))
    const judge = (days: number, tls?: object) => {
      const worker = { operations: { ...(tls && { tls }) } }
      const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit', worker })
      return judgeCertificates(profile, new Date(Date.now() + days * dayMs))
    }
    const tls = { certFile, keyFile, clientCaFile: caFile }
    t.match(judge(0), { state: 'skipped' })
    t.match(judge(0, { ...tls, clientCaFile: join(caFile, 'gone') }), { state: 'good' })
    t.match(judge(0, tls), { state: 'good', detail: /the next to expire is .*\.pem, on \d{4}-/ })
    const expired = judge(900, tls)
    t.match(expired, { state: 'bad', todo: /replace the file/ })
    t.match(expired.detail, /server\.pem expired at \d{4}-/)
    t.match(expired.detail, /ca\.pem expired at \d{4}-/)
    t.match(judge(-2, tls), { state: 'bad', detail: /server\.pem is not valid before \d{4}-/ })
  },
)
