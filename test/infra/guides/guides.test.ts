import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../../infra/package-root.js'
import { parseProfile } from '../../../schemas/settings/profile.js'

const infra = join(packageRoot(import.meta.url), 'infra')
const guide = (name: string) => readFileSync(join(infra, 'guides', name), 'utf8')

const least = {
  companyCodes: ['ACME'],
  timeZone: 'America/Detroit',
  gateway: { listen: { port: 8443 } },
  identity: {
    kind: 'oidc',
    claim: 'sub',
    issuers: [{ issuer: 'https://login.example.com', audience: 'tieline' }],
  },
  cis: { kind: 'rest', url: 'https://cis.example.com' },
}

t.test('the profile settings in the guides are valid', async (t) => {
  for (const name of ['install.md', 'connect.md', 'run.md']) {
    const blocks = [...guide(name).matchAll(/^```yaml\n(.*?)^```$/gms)]
    t.ok(blocks.length > 0, `${name} shows some`)
    for (const [, yaml = ''] of blocks) {
      const sections = parse(yaml) as object
      t.doesNotThrow(() => parseProfile({ ...least, ...sections }), Object.keys(sections).join())
    }
  }
})
