import {
  type SettingsOf,
  type SourceKind,
  sourceSettings,
} from '../../../schemas/settings/source.js'

/** The settings of a source as a profile has them, defaults filled in. */
export function parseSource<K extends SourceKind>(value: {
  readonly kind: K
  readonly [name: string]: unknown
}) {
  return sourceSettings.parse(value) as SettingsOf<K>
}
