import {
  endOfDay,
  type History,
  type HistoryRead,
  instantOfBill,
  instantOfHour,
  instantOfRound,
  type Place,
} from './histories.js'

/** Whose a read is: clients whose it must be, whose it may be, and who may see it by `readUnder`. */
export interface Owners {
  readonly must: readonly string[]
  readonly may: readonly string[]
  readonly readers: readonly string[]
}

const allClients = ['1', '2', '3']

/**
 * Whose a read is by decision 11, from the history alone. What is contested without evidence of bills or
 * reads is left open: then nobody must see the read, and each of those who may have had the meter may. So
 * is what rests on a read that was moved to another account later.
 */
export function ownersOf(history: History, read: HistoryRead): Owners {
  const sent = ownersIn(history, read)
  const current = currentReads(history)
  if (current.length === new Set(history.usage.flat().map(textOf)).size) return sent
  const moved = ownersIn({ ...history, usage: [current] }, read)
  return {
    must: sent.must.filter((client) => moved.must.includes(client)),
    may: [...sent.may, ...moved.may],
    readers: sent.readers,
  }
}

const textOf = (read: HistoryRead) => JSON.stringify(read)

/** Of the reads of a meter at an hour the last one. */
export function currentReads({ usage }: History): readonly HistoryRead[] {
  return [...new Map(usage.flat().map((read) => [`${read.meter} ${read.hour}`, read])).values()]
}

function ownersIn(history: History, read: HistoryRead): Owners {
  const isNamed = history.rounds.flat().some(({ kind, places }) => {
    return kind === 'record' && places.some(({ account }) => account === read.account)
  })
  const owners =
    read.account !== '' && isNamed ? underAccount(history, read) : atMeter(history, read)
  return { ...owners, readers: landlords(history, read) }
}

type Own = Pick<Owners, 'must' | 'may'>

function underAccount(history: History, read: HistoryRead): Own {
  const at = instantOfHour(read.hour)
  if (isTerminated(history, read, at)) return { must: [], may: [] }
  const present = clientsOf(history, read)
  const ends = present.map(({ end }) => end ?? Number.POSITIVE_INFINITY)
  const last = Math.max(...ends)
  const own = present.filter(({ end }) => end === undefined || end === last || at < end)
  const must = own.map(({ client }) => client)
  return { must, may: must }
}

/** A record lists the account for that day, and a site of the client there. */
function landlords({ rounds }: History, read: HistoryRead): readonly string[] {
  const at = instantOfHour(read.hour)
  return rounds.flat().flatMap(({ client, kind, under, places }) => {
    const isHere = kind === 'record' && places.some(({ site }) => site === read.site)
    if (!isHere || under?.account !== read.account) return []
    const from = under.from === undefined ? at : endOfDay(under.from - 1)
    const to = under.to === undefined ? at + 1 : endOfDay(under.to)
    return from <= at && at < to ? [client] : []
  })
}

/** Who may have had a meter, since when, by what evidence. */
interface Tenant {
  readonly place: Place
  /** Of a record that names no account: each such client is a tenant by himself. */
  readonly client: string | undefined
  readonly clients: readonly { readonly client: string; readonly end: number | undefined }[]
  /** Dates of bills, else the first read under the account. */
  readonly proofs: readonly number[]
  readonly isBilled: boolean
  /** The first record that lists the place, of which a bill says more, and the last. */
  readonly recordAt: number
  readonly listedAt: number
}

/** A read that names no account, or one that no client has ever had. */
function atMeter(history: History, read: HistoryRead): Own {
  const at = instantOfHour(read.hour)
  const all = tenantsOf(history, read)
  const tenants = all.filter(({ clients }) => clients.length > 0)
  const strangers = provedStrangers(history, read)
  const seenBy = (tenant: Tenant) => {
    if (read.account !== '' && tenant.client === undefined) return []
    return isTerminated(history, tenant.place, at) ? [] : whoHas(history, { tenant, read, at })
  }
  const sinceOf = ({ proofs, recordAt, isBilled }: Tenant) => [
    ...proofs,
    ...(isBilled ? [] : [recordAt]),
  ]
  const isFirst = (tenant: Tenant) => {
    return (
      read.account !== '' &&
      [...tenants.flatMap(sinceOf), ...strangers].every((one) => one >= tenant.recordAt)
    )
  }
  const candidates = tenants.filter((tenant) => {
    const others = tenants.filter((one) => one !== tenant && !sharesClient(one, tenant))
    const proofs = [...others.flatMap((one) => one.proofs), ...strangers]
    // A record that lists the place again takes back what others have proved.
    const isTakenBack = (proof: number) => tenant.recordAt < proof && proof < tenant.listedAt
    const isOpen = (since: number) =>
      !proofs.some((proof) => since < proof && proof <= at && !isTakenBack(proof))
    return isFirst(tenant) || sinceOf(tenant).some((since) => since <= at && isOpen(since))
  })
  const may = candidates.flatMap(seenBy)
  const [only] = tenants
  if (all.length === 1 && only !== undefined && strangers.length === 0) {
    const hasBegun = only.clients.some(({ end }) => end === undefined || only.recordAt < end)
    const isKnown = (isFirst(only) && hasBegun) || sinceOf(only).some((since) => since <= at)
    return { must: isKnown ? seenBy(only) : [], may }
  }
  const isProved = all.length === tenants.length && tenants.every(({ proofs }) => proofs.length > 0)
  const isApart = tenants.every((one) =>
    tenants.every((two) => one === two || !sharesClient(one, two)),
  )
  const latest = Math.max(
    ...[...tenants.flatMap(({ proofs }) => proofs), ...strangers].filter((one) => one <= at),
  )
  const holders = tenants.filter(({ proofs }) => proofs.includes(latest))
  if (!isProved || !isApart || holders.length !== 1 || strangers.includes(latest))
    return { must: [], may }
  return { must: holders.flatMap(seenBy), may }
}

function tenantsOf(history: History, read: HistoryRead): readonly Tenant[] {
  const { site, meter } = read
  const listed = history.rounds.flatMap((sights, round) =>
    sights
      .filter(({ kind }) => kind === 'record')
      .flatMap(({ client, places }) =>
        places
          .filter((one) => one.site === site)
          .map(({ account }) => ({
            account,
            client: account === '' ? client : undefined,
            at: instantOfRound(round),
          })),
      ),
  )
  const keys = new Map(listed.map((one) => [`${one.account} ${one.client}`, one]))
  return [...keys.values()].map(({ account, client }) => {
    const place = { account, site }
    const clients = clientsOf(history, place).filter(
      (one) => client === undefined || one.client === client,
    )
    const own = listed.filter((one) => one.account === account && one.client === client)
    const bills = account === '' ? [] : billsOf(history, { account, site, meter })
    const reads = account === '' ? [] : readsOf(history, { account, site, meter })
    const all = bills.length > 0 ? bills : reads.slice(0, 1)
    // What comes after the end of an account proves nothing.
    const proofs = all.filter((at) => {
      const has = whoHas(history, { tenant: { place, clients }, read, at })
      return !isTerminated(history, place, at) && (clients.length === 0 || has.length > 0)
    })
    const records = own.map(({ at }) => at)
    return {
      place,
      client,
      clients,
      proofs,
      isBilled: bills.length > 0,
      recordAt: Math.min(...records),
      listedAt: Math.max(...records),
    }
  })
}

const isAt = (one: HistoryRead, { account, site, meter }: Omit<HistoryRead, 'hour'>) =>
  one.account === account && one.site === site && one.meter === meter

function billsOf(history: History, where: Omit<HistoryRead, 'hour'>): readonly number[] {
  return history.bills.filter((one) => isAt(one, where)).map(instantOfBill)
}

function readsOf(history: History, where: Omit<HistoryRead, 'hour'>): readonly number[] {
  const reads = history.usage.flat().filter((one) => isAt(one, where))
  return reads.map(({ hour }) => instantOfHour(hour)).sort((a, b) => a - b)
}

/** Dates of bills at the meter under accounts that no record has at the site. */
function provedStrangers(history: History, read: HistoryRead): readonly number[] {
  const accounts = new Set(tenantsOf(history, read).map(({ place }) => place.account))
  return history.bills
    .filter(
      ({ site, meter, account }) =>
        site === read.site && meter === read.meter && !accounts.has(account),
    )
    .map(instantOfBill)
}

function sharesClient(a: Tenant, b: Tenant): boolean {
  return a.clients.some(({ client }) => b.clients.some((one) => one.client === client))
}

/** The clients of a tenant who have not left him then; reads behind all ends give it back to the last. */
function whoHas(
  history: History,
  {
    tenant,
    read,
    at,
  }: {
    readonly tenant: Pick<Tenant, 'place' | 'clients'>
    readonly read: HistoryRead
    readonly at: number
  },
): readonly string[] {
  const { clients, place } = tenant
  const ends = clients.map(({ end }) => end ?? Number.POSITIVE_INFINITY)
  const last = Math.max(...ends)
  const reads = place.account === '' ? [] : readsOf(history, { ...read, ...place })
  const isInUse = reads.some((one) => one >= last)
  return clients
    .filter(({ end }) => end === undefined || at < end || (end === last && isInUse))
    .map(({ client }) => client)
}

function isTerminated({ terminations }: History, { account, site }: Place, at: number): boolean {
  return terminations.some((one) => {
    return one.account === account && ['', site].includes(one.site) && at >= endOfDay(one.day)
  })
}

function clientsOf(history: History, place: Place) {
  return allClients
    .map((client) => ({ client, ...stateOf(history, client, place) }))
    .filter(({ known, left }) => known && !left)
}

/** What the sights of a client say of an account at a site, in the end. */
function stateOf({ rounds }: History, client: string, { account, site }: Place) {
  let [known, left] = [false, false]
  let end: number | undefined
  for (const [round, sights] of rounds.entries()) {
    for (const sight of sights.filter((one) => one.client === client)) {
      const at = instantOfRound(round)
      const isListed = sight.places.some((one) => one.account === account && one.site === site)
      if (sight.kind === 'left') left = left || known
      else if (sight.kind === 'closed' || !isListed) {
        if (known && !left) end ??= at
      } else {
        const isOpen = sight.status !== 'F'
        end = isOpen ? undefined : (end ?? at)
        known = true
        left = false
      }
    }
  }
  return { known, left, end }
}
