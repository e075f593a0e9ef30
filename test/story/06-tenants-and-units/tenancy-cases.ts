import type { Registration } from '../../../schemas/gateway/registration.js'
import type { At } from '../../pipeline/customers/registering.js'

type UnderDays = NonNullable<Registration['meters'][number]['readUnder']>
/** A client with his account, at the meter of the case unless it names another. */
export type Who = Partial<Pick<At, 'meterId' | 'externalSiteId' | 'acctStatus'>> &
  Pick<At, 'clientId' | 'accountNumber'> & { readonly readUnder?: UnderDays }
/** Account, first and last day of June, and the meter where it is another one: 1 kWh a day, or each quarter of an hour. */
type Reads = readonly [account: string, first: number, last: number, meter?: string]

export interface TenancyCase {
  readonly says: string
  /** Records on 20 May, on 5 June and on 9 June. */
  readonly may?: readonly Who[]
  readonly june5?: readonly Who[]
  readonly june9?: readonly Who[]
  /** Clients whom the gateway answers 86 on 5 June. */
  readonly closed?: readonly string[]
  readonly reads: readonly Reads[]
  /** Reads of a file that comes behind all the others. */
  readonly late?: readonly Reads[]
  /** Account and day of a bill's MeterEffectiveDate, and of a termination. */
  readonly billed?: readonly [account: string, day: number]
  readonly terminated?: readonly [account: string, day: number]
  /** Whose the reads are, by day and by meter; days of nobody are left out. */
  readonly owners: readonly string[]
  /** Kind, accounts before and after, day and evidence. */
  readonly events: readonly string[]
  /** Account, clients and kilowatt-hours of the projected bills. */
  readonly bills: readonly string[]
}

const evidence = {
  bill: 'a bill says since when the meter is active for the new account',
  usage: 'the first interval with the new account in a usage file starts then',
  terminated: 'the account was terminated',
  gone: 'a record of the client no longer has the site',
  closed: 'the account has a final or closed status',
  exchanged: 'a record of the client has another meter at the site',
  renumbered: 'a record of the client has another account number',
  reads: 'reads under the account are later than its end',
  record: 'a later record of the client has the account, the site and the meter',
  shared: 'customer records of several clients have the account and the site',
  suspected: 'reads carry an account that no client has',
} as const

const who = (clientId: string, accountNumber: string, more: Partial<Who> = {}): Who => {
  return { clientId, accountNumber, ...more }
}
const listed = { from: '2024-06-03', to: '2024-06-05' }
/** A meter that is read every quarter of an hour. */
export const quarters = 'quarters'
const elsewhere = { meterId: 'moved', externalSiteId: 'away' }

/** Each has a site and a meter of its own. */
export const cases: readonly TenancyCase[] = [
  {
    says: 'a day of reads under an account that no client has is nobody’s and ends nothing',
    may: [who('tom', 'T', { meterId: quarters })],
    reads: [
      ['T', 2, 2, quarters],
      ['STRANGER', 3, 3, quarters],
    ],
    owners: ['2 tom 96'],
    events: [`suspected T>STRANGER 3 ${evidence.suspected}`],
    bills: ['T tom 96'],
  },
  {
    says: 'a landlord sees the listed account on the listed days, and his bill does not count it',
    may: [who('lara', 'L', { readUnder: [{ accountNumber: 'SUB', ...listed }] })],
    reads: [
      ['L', 1, 2],
      ['SUB', 3, 6],
      ['L', 7, 10],
    ],
    owners: ['1-5 lara', '7-10 lara'],
    events: [],
    bills: ['L lara 6'],
  },
  {
    says: 'a listed account whose client registers keeps its reads and bill, beside the landlord',
    may: [who('liv', 'L', { readUnder: [{ accountNumber: 'SUB', ...listed }] })],
    june5: [who('sub', 'SUB')],
    june9: [who('liv', 'L', { readUnder: [{ accountNumber: 'SUB', ...listed }] })],
    reads: [
      ['L', 1, 2],
      ['SUB', 3, 6],
    ],
    owners: ['1-2 liv', '3-5 liv+sub', '6 sub'],
    events: [`move L>SUB 3 ${evidence.usage}`, `withdrawn L>L 3 ${evidence.record}`],
    bills: ['L liv 2', 'SUB sub 4'],
  },
  {
    says: 'a vacancy after a termination is nobody’s',
    may: [who('olga', 'O')],
    june5: [who('nina', 'N')],
    terminated: ['O', 3],
    reads: [
      ['O', 1, 3],
      ['HOUSE', 4, 6],
      ['N', 7, 10],
    ],
    owners: ['1-3 olga', '7-10 nina'],
    events: [`move O>- 4 ${evidence.terminated}`, `move O>N 7 ${evidence.usage}`],
    bills: ['N nina 4', 'O olga 3'],
  },
  {
    says: 'a bill ends the tenancy also where no client has its account',
    may: [who('carl', 'C')],
    billed: ['NEXT', 5],
    reads: [
      ['C', 1, 4],
      ['NEXT', 7, 10],
    ],
    owners: ['1-4 carl'],
    events: [`move C>NEXT 5 ${evidence.bill}`],
    bills: ['C carl 4'],
  },
  {
    says: 'a bill says since when a registered tenant has the meter, before his first read',
    may: [who('cora', 'C')],
    june5: [who('carla', 'C2')],
    billed: ['C2', 5],
    reads: [
      ['C', 1, 4],
      ['C2', 7, 10],
    ],
    owners: ['1-4 cora', '7-10 carla'],
    events: [`move C>C2 5 ${evidence.bill}`],
    bills: ['C cora 4', 'C2 carla 4'],
  },
  {
    says: 'a record that no longer has the site ends what the client had there',
    may: [who('gina', 'G')],
    june5: [who('gina', 'G2', elsewhere)],
    reads: [['G', 1, 4]],
    owners: ['1-4 gina'],
    events: [`move G>- 5 ${evidence.gone}`],
    bills: ['G gina 4'],
  },
  {
    says: 'a final status in a record ends the tenancy',
    may: [who('fred', 'F')],
    june5: [who('fred', 'F', { acctStatus: 'F' })],
    reads: [['F', 1, 4]],
    owners: ['1-4 fred'],
    events: [`move F>- 5 ${evidence.closed}`],
    bills: ['F fred 4'],
  },
  {
    says: 'an answer of 86 ends the tenancy',
    may: [who('cleo', 'K')],
    closed: ['cleo'],
    reads: [['K', 1, 4]],
    owners: ['1-4 cleo'],
    events: [`move K>- 5 ${evidence.closed}`],
    bills: ['K cleo 4'],
  },
  {
    says: 'an exchanged meter stays with the account, also before a record lists it',
    may: [who('erik', 'E')],
    june5: [who('erik', 'E', { meterId: 'new' })],
    reads: [
      ['E', 1, 3],
      ['E', 4, 10, 'new'],
    ],
    owners: ['1-3 erik', 'new: 4-10 erik'],
    events: [`exchanged E>- 5 ${evidence.exchanged}`, `new: exchanged ->E 4 ${evidence.exchanged}`],
    bills: ['E erik 3', 'new: E erik 7'],
  },
  {
    says: 'the same client with another account is renumbered: nothing ends',
    may: [who('rita', 'R1')],
    june5: [who('rita', 'R2')],
    reads: [
      ['R1', 1, 4],
      ['R2', 5, 10],
    ],
    owners: ['1-10 rita'],
    events: [`renumbered R1>R2 5 ${evidence.renumbered}`],
    bills: ['R1 rita 4', 'R2 rita 6'],
  },
  {
    says: 'a record that has the site again takes its end back',
    may: [who('wim', 'W')],
    june5: [who('wim', 'W2', elsewhere)],
    june9: [who('wim', 'W')],
    reads: [['W', 1, 4]],
    late: [['W', 10, 10]],
    owners: ['1-4 wim', '10 wim'],
    events: [`withdrawn W>W 5 ${evidence.record}`, `moved: move W2>- 9 ${evidence.gone}`],
    bills: ['W wim 5'],
  },
  {
    says: 'a record with an open status takes the end by a closed one back',
    may: [who('vera', 'V')],
    closed: ['vera'],
    june9: [who('vera', 'V')],
    reads: [['V', 1, 4]],
    owners: ['1-4 vera'],
    events: [`withdrawn V>V 5 ${evidence.record}`],
    bills: ['V vera 4'],
  },
  {
    says: 'a record behind the bill of another account takes the end by that bill back',
    may: [who('bela', 'B')],
    june9: [who('bela', 'B')],
    billed: ['WRONG', 5],
    reads: [
      ['B', 1, 3],
      ['WRONG', 6, 6],
    ],
    owners: ['1-3 bela'],
    events: [`suspected B>WRONG 6 ${evidence.suspected}`, `withdrawn B>B 5 ${evidence.record}`],
    bills: ['B bela 3'],
  },
  {
    says: 'reads under the account behind its end take it back',
    may: [who('dora', 'D')],
    closed: ['dora'],
    reads: [['D', 1, 3]],
    late: [['D', 8, 9]],
    owners: ['1-3 dora', '8-9 dora'],
    events: [`withdrawn D>D 5 ${evidence.reads}`],
    bills: ['D dora 5'],
  },
  {
    says: 'a customer who registers later has his reads, and none of the tenant before',
    june9: [who('hana', 'H')],
    reads: [
      ['EARLIER', 1, 3],
      ['H', 4, 10],
    ],
    owners: ['4-10 hana'],
    events: [`move EARLIER>H 4 ${evidence.usage}`],
    bills: ['H hana 7'],
  },
  {
    says: 'of clients who share an account, who leaves keeps what was and the others all',
    may: [who('sue', 'SHARED'), who('sam', 'SHARED')],
    closed: ['sue'],
    reads: [['SHARED', 1, 7]],
    late: [['SHARED', 8, 10]],
    owners: ['1-5 sam+sue', '6-10 sam'],
    events: [`shared SHARED>SHARED 20 ${evidence.shared}`],
    bills: ['SHARED sam 10'],
  },
  {
    says: 'who has another account now leaves the shared one, and its reads bring nobody back',
    may: [who('ulla', 'U'), who('udo', 'U')],
    june5: [who('ulla', 'ALONE', elsewhere)],
    reads: [['U', 1, 7]],
    late: [['U', 8, 10]],
    owners: ['1-5 udo+ulla', '6-10 udo'],
    events: [`shared U>U 20 ${evidence.shared}`],
    bills: ['U udo 10'],
  },
  {
    says: 'an account that leaves a site leaves the meter of the other account there alone',
    may: [who('dan', 'D1'), who('dee', 'D2', { meterId: 'other' })],
    terminated: ['D1', 3],
    reads: [
      ['D1', 1, 3],
      ['D2', 1, 10, 'other'],
    ],
    owners: ['1-3 dan', 'other: 1-10 dee'],
    events: [`move D1>- 4 ${evidence.terminated}`],
    bills: ['D1 dan 3', 'other: D2 dee 10'],
  },
]
