import { createServer } from 'node:net'
import { hashPassword } from '../../api/access/password.js'
import type { Home } from '../stack/home.js'
import { isPortFree } from '../stack/port.js'
import { type Child, createChild } from '../stack/processes/child.js'
import type { OfficeSettings } from './back-office/server.js'
import { type Certificates, demoCertificates } from './certificates.js'

const systems = ['idp', 'cis', 'ami', 'mdm'] as const
export type OfficeSystem = (typeof systems)[number]

export interface OfficeOptions extends OfficeSettings {
  readonly system: OfficeSystem
}

/** Addresses of the simulated utility's systems; each runs in its own process. */
export interface Office extends Readonly<Record<OfficeSystem, string>> {
  readonly certificates: Certificates
  close(): Promise<void>
}

const seed = 20_251_102
const count = 3_000
const portsWanted = {
  idp: 9_101,
  cis: 9_102,
  ami: 9_103,
  mdm: 9_104,
  listen: 8_443,
  mutual: 8_444,
  operations: 9_464,
}
/** The demo's service account; it protects nothing real. */
export const demoAccount = { name: 'platform', password: 'demo' } as const

/** Starts identity provider, CIS, head-end and MDM of the simulated utility. */
export async function startOffice(home: Home): Promise<Office> {
  const children: Child<string>[] = []
  const start = async (system: OfficeSystem): Promise<string> => {
    const port = await freePort(portsWanted[system])
    const child = await createChild<OfficeOptions, string>({
      name: system,
      program: 'back-office',
      options: { system, port, seed, count },
      logsPath: home.logs,
      stopMsMax: 2_000,
    })
    children.push(child)
    return child.detail()
  }
  const close = async () => void (await Promise.all(children.map((child) => child.close())))
  try {
    const [idp, cis, ami, mdm] = await Promise.all(systems.map(start))
    const certificates = demoCertificates(`${home.path}/certificates`)
    return { idp, cis, ami, mdm, certificates, close } as Office
  } catch (error) {
    await close()
    throw error
  }
}

/** The profile sections that connect the gateway to the simulated utility. */
export async function officeSections(office: Office): Promise<Readonly<Record<string, unknown>>> {
  const { certFile, keyFile, caFile } = office.certificates
  const tls = { certFile, keyFile }
  return {
    gateway: {
      listen: { port: await freePort(portsWanted.listen), tls },
      mutual: { port: await freePort(portsWanted.mutual), tls: { ...tls, clientCaFile: caFile } },
      operations: { port: await freePort(portsWanted.operations) },
    },
    identity: {
      kind: 'oidc',
      claim: 'sub',
      issuers: [{ issuer: office.idp, audience: 'tieline' }],
    },
    cis: { kind: 'rest', url: office.cis },
    ami: { kind: 'rest', url: office.ami },
    bind: {
      users: [{ name: demoAccount.name, passwordHash: await hashPassword(demoAccount.password) }],
    },
  }
}

async function freePort(wanted: number): Promise<number> {
  let port = wanted
  while (!((await isPortFree(port)) && (await isClaimed(port)))) port += 10
  return port
}

/**
 * Reserves a port for this process with an abstract socket name, so that two demos that start
 * together never choose the same port.
 */
function isClaimed(port: number): Promise<boolean> {
  const claim = createServer().unref()
  return new Promise((resolve) => {
    claim.once('error', () => resolve(false)).listen(`\0tieline-port-${port}`, () => resolve(true))
  })
}
