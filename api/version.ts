import type { GatewayVersion } from '../schemas/settings/gateway.js'
import type { GatewayResponse } from './request.js'

/**
 * Header fields that tell of a version's end: `Deprecation` (RFC 9745, seconds since 1970) and
 * `Sunset` (RFC 8594, an HTTP date). A profile with less than 90 days between is refused.
 */
export function versionHeaders(
  versions: readonly GatewayVersion[],
): ReadonlyMap<string, GatewayResponse['headers']> {
  return new Map(
    versions.map(({ name, deprecatedOn, sunsetOn }) => [
      name,
      [
        ...(deprecatedOn ? [['Deprecation', `@${Date.parse(deprecatedOn) / 1_000}`] as const] : []),
        ...(sunsetOn ? [['Sunset', new Date(sunsetOn).toUTCString()] as const] : []),
      ],
    ]),
  )
}
