import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createSigningKeys } from '../../../api/identity/signing-keys.js'
import type { Fault } from '../../../schemas/fault.js'
import { createFolder } from '../../rig/folder.js'
import { createSamlSigner } from './saml-provider.js'

t.test('keys follow their files, and stay where a file cannot be used', async (t) => {
  const file = join(createFolder(t), 'idp.pem')
  const [old, young] = [createSamlSigner(), createSamlSigner()]
  const failures: Fault[] = []
  const until = async (isSo: () => boolean) => {
    for (let look = 0; look < 6_000 && !isSo(); look++) await sleep(10)
    t.ok(isSo())
  }
  writeFileSync(file, old.publicKey)
  const onFailure = (fault: Fault) => failures.push(fault)
  const keys = createSigningKeys({ files: [file], everyMs: 20, onFailure })
  t.teardown(keys.close)
  t.equal(keys.current().length, 1)
  writeFileSync(file, `the old one\n${old.publicKey}and the new one\n${young.publicKey}`)
  await until(() => keys.current().length === 2)
  writeFileSync(file, 'no certificate')
  await until(() => failures.length > 0)
  t.match(failures, [{ code: 'PROFILE', detail: /idp.pem holds no certificate: write PEM/ }])
  t.equal(keys.current().length, 2)
})
