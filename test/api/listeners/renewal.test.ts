import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { t } from 'tap'
import { createHttpsListener } from '../../../api/listeners/https.js'
import type { Listener } from '../../../api/listeners/listener.js'
import { createRenewal } from '../../../api/listeners/renewal.js'
import { createUwsListener } from '../../../api/listeners/uws.js'
import { createRequestIds } from '../../../api/request.js'
import { type Certificates, demoCertificates } from '../../../infra/demo/certificates.js'
import type { Fault } from '../../../schemas/fault.js'
import { createFolder } from '../../rig/folder.js'
import { freePort } from '../identity/provider.js'
import { echo, limits, refuse } from './conformance.js'

const shared = {
  limits,
  requestsPerSecondMax: 1_000,
  handle: echo,
  requestId: createRequestIds('test'),
  refuse,
  onFailure: () => undefined,
}
// A port that the system chose is not shared, so that the app for a new certificate could not have it.
const place = async () => ({ host: '127.0.0.1', port: await freePort(), clients: [], allow: [] })

const listeners: Readonly<Record<string, (files: Certificates) => Promise<Listener>>> = {
  uWebSockets: async ({ certFile, keyFile }) =>
    createUwsListener({ settings: { ...(await place()), tls: { certFile, keyFile } }, ...shared }),
  'node:https': async ({ certFile, keyFile, caFile }) =>
    createHttpsListener({
      settings: { ...(await place()), tls: { certFile, keyFile, clientCaFile: caFile } },
      ...shared,
    }),
}

/** The serial number of the certificate that is served; undefined where nothing is. */
const serialOf = (port: number, { clientCertFile, clientKeyFile }: Certificates) =>
  new Promise<string | undefined>((resolve) => {
    const client = { cert: readFileSync(clientCertFile), key: readFileSync(clientKeyFile) }
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...client })
    socket.once('secureConnect', () => {
      const { serialNumber } = socket.getPeerCertificate()
      socket.destroy()
      resolve(serialNumber)
    })
    socket.once('error', () => resolve(undefined))
  })

for (const [name, listen] of Object.entries(listeners)) {
  t.test(`${name}: who connects at the moment of a renewal is served`, async (t) => {
    const files = demoCertificates(createFolder(t))
    const listener = await listen(files)
    t.teardown(listener.close)
    for (let renewal = 0; renewal < 5; renewal++) {
      const asked = serialOf(listener.port, files)
      // The system connects in this turn, and the listener accepts in the next one.
      await new Promise<void>((resolve) => process.nextTick(resolve))
      await listener.renewCertificate()
      t.ok(await asked)
    }
  })

  t.test(
    `${name}: a renewed certificate is served without a restart, a broken one is not`,
    async (t) => {
      const folder = createFolder(t)
      const files = demoCertificates(join(folder, 'served'))
      const newer = demoCertificates(join(folder, 'newer'))
      const faults: Fault[] = []
      const listener = await listen(files)
      t.teardown(listener.close)
      const renewal = createRenewal({
        renew: () => listener.renewCertificate(),
        files: [files.certFile, files.keyFile],
        everyMs: 50,
        onFailure: (fault) => faults.push(fault),
      })
      t.teardown(renewal.close)
      const before = await serialOf(listener.port, files)
      copyFileSync(newer.certFile, files.certFile)
      copyFileSync(newer.keyFile, files.keyFile)
      let after = before
      let refused = 0
      for (let look = 0; look < 3_000 && after === before; look++) {
        after = await serialOf(listener.port, files)
        if (after === undefined) refused++
        await sleep(20)
      }
      t.ok(before !== undefined && after !== undefined && after !== before)
      t.equal(refused, 0, 'no connection was refused meanwhile')
      writeFileSync(files.certFile, 'no certificate')
      for (let look = 0; look < 3_000 && faults.length === 0; look++) await sleep(20)
      t.match(faults, [{ code: 'LISTENER' }])
      t.equal(await serialOf(listener.port, files), after, 'what was served still is')
    },
  )
}
