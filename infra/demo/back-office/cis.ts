import { demoPeople, type Person } from './people.js'
import {
  createOfficeServer,
  type OfficeFault,
  type OfficeServer,
  type OfficeSettings,
} from './server.js'

/**
 * The simulated CIS: `GET /customers/<clientId>`, and `PUT` to change a customer. It sends `locked`
 * only for locked customers, so that the gateway's own lock is in use as well.
 */
export function createDemoCis({ port, seed, count }: OfficeSettings): Promise<OfficeServer> {
  const people = new Map<string, Person>(demoPeople(seed, count))
  return createOfficeServer(port, (request, fault) => {
    const [, collection, clientId = ''] = request.path.split('/')
    if (collection !== 'customers') return { status: 404, body: { error: 'no such path' } }
    if (request.method === 'PUT') {
      people.set(decodeURIComponent(clientId), request.body as Person)
      return { status: 200, body: {} }
    }
    const person = people.get(decodeURIComponent(clientId))
    if (person === undefined) return { status: 404, body: { error: 'no such customer' } }
    if (fault.kind === 'refuse') return { status: 500, body: { error: 'maintenance' } }
    return { status: 200, body: withoutField(person, fault) }
  })
}

function withoutField(person: Person, { kind, field }: OfficeFault): unknown {
  const { locked, ...rest } = person
  const shown = locked ? { ...rest, locked } : rest
  if (kind !== 'missing' || field === undefined) return shown
  const text = JSON.stringify(shown, (name, value: unknown) => (name === field ? undefined : value))
  return JSON.parse(text)
}
