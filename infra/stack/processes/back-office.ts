import { createDemoAmi } from '../../demo/back-office/ami.js'
import { createDemoCis } from '../../demo/back-office/cis.js'
import { createDemoIdp } from '../../demo/back-office/idp.js'
import { createDemoMdm } from '../../demo/back-office/mdm.js'
import type { OfficeServer } from '../../demo/back-office/server.js'
import type { OfficeOptions, OfficeSystem } from '../../demo/office.js'
import { serveParent } from './serve-parent.js'

const systems: Readonly<Record<OfficeSystem, (options: OfficeOptions) => Promise<OfficeServer>>> = {
  idp: ({ port }) => createDemoIdp(port),
  cis: createDemoCis,
  ami: createDemoAmi,
  mdm: createDemoMdm,
}

serveParent<OfficeOptions>('back-office', async (options) => {
  const { url, close } = await systems[options.system](options)
  return { detail: url, close }
})
