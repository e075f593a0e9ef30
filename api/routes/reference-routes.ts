import type { Profile } from '../../schemas/settings/profile.js'
import type { Route, RouteHandler } from '../route.js'
import { toOpenApi } from './openapi.js'
import { renderApiReference } from './reference.js'

/** The API description of the gateway, for programs and for people. */
export function createReferenceRoutes(profile: Profile): readonly Route[] {
  const documents = new Map(
    profile.gateway?.versions.map(({ name, deprecatedOn }) => [
      name,
      toOpenApi({
        version: name,
        isDeprecated: deprecatedOn !== undefined,
        errorStyle: profile.errorStyle,
        unknownStatus: profile.login.unknown,
        required: profile.cis?.required ?? 'full',
        hasBind: profile.bind !== undefined,
        hasReads: profile.reads !== undefined,
        hasPull: profile.reads?.users !== undefined,
        hasConnect: profile.reads?.connect !== undefined,
        hasIntake: profile.intake !== undefined,
      }),
    ]),
  )
  const page = (type: string, toBody: (document: unknown) => string): RouteHandler => {
    const bodies = new Map([...documents].map(([name, one]) => [name, toBody(one)]))
    return (_, { version }) => ({ kind: 'page', body: bodies.get(version) ?? '', type })
  }
  const open = { method: 'GET', access: 'bearer' } as const
  const text = (document: unknown) => JSON.stringify(document)
  const html = 'text/html; charset=utf-8'
  return [
    { ...open, name: 'openapi', path: '/openapi.json', run: page('application/json', text) },
    { ...open, name: 'reference', path: '/reference', run: page(html, renderApiReference) },
  ]
}
