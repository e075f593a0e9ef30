import type { Folders } from '../../pipeline/context.js'
import { createLedger } from '../../pipeline/ledger/ledger.js'
import { createQueues } from '../../pipeline/queues/bullmq.js'
import { createStore, type StoreAddress } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'
import { silentMsMax } from '../metrics/collect.js'
import { createAdmit, createPeople } from './access.js'
import { createBoard } from './board.js'
import { createJudge } from './judge.js'
import { createLive } from './live.js'
import { createPage, type Page, policy } from './page.js'
import { createPanels } from './panels.js'
import { createSignIn } from './sign-in.js'

export interface OperationsOptions {
  readonly profile: Profile
  readonly folders: Folders
  readonly redisUrl: string
  readonly store: StoreAddress
  /** Called with the reason when something could not be shown or done. */
  readonly onFailure: (error: unknown) => void
}

/** A longer silence of the store during an action is reported as unreachable. */
const actMsMax = 10_000

/** The operations page with connections of its own. */
export function createOperationsPage(options: OperationsOptions): {
  readonly page: Page
  close(): Promise<void>
} {
  const { profile, folders, redisUrl, onFailure } = options
  const now = () => new Date()
  const zone = createZone(profile.timeZone)
  const looking = createStore(options.store, 'discreet', { silentMsMax })
  const store = createStore(options.store, 'discreet', { silentMsMax: actMsMax })
  const queues = createQueues({ redisUrl, prefix: profile.database })
  const { landing } = folders
  // The pool of the panels may be full of queries that wait.
  const judge = createJudge(() => store.ping())
  const source = { store: looking, queues, profile, zone, landing, now, judge }
  const live = createLive(createPanels(source), { judge, onFailure })
  const { operations } = profile.worker
  const people = createPeople(operations, onFailure)
  return {
    page: createPage({
      admit: createAdmit(operations, onFailure, people),
      signIn: people && createSignIn(people, { policy, isTls: operations.tls !== undefined }),
      live,
      context: { store, ledger: createLedger(store, now), queues, folders, profile, zone },
      board: createBoard(queues),
      judge,
      onFailure,
    }),
    close: async () => {
      live.close()
      await queues.close()
      await Promise.all([store.close(), looking.close()])
    },
  }
}
