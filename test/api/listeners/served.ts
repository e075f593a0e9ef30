import type { Listener } from '../../../api/listeners/listener.js'
import type { RawServer } from './raw.js'

export interface Served {
  readonly listener: Listener
  readonly tls: RawServer['tls']
}
