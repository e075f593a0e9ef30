import { type SourceSettings, sourceSettings } from '../../../schemas/source.js'

/** The settings of a source as a profile has them, defaults filled in. */
export function parseSource(value: object): SourceSettings {
  return sourceSettings.parse(value)
}
