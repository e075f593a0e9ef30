/** What becomes of a kind of statement on one server, and on replicas. */
export interface Verdict {
  readonly title: string
  readonly oneServer: string
  readonly replicas: string
  readonly holds: (shape: string) => boolean
}

/** Rows of which a token decides whether they are there: at most one insert under a token counts. */
const byToken = [
  ...['arrival', 'publication', 'login_attempt', 'login_unlock', 'bind_action', 'audit_log'],
  ...['alert', 'registration_fact', 'usage_change_row', 'self_test', 'file_state'],
]
/** Rows that a repeat writes again: the engine keeps one of those that are equal, or the latest. */
const byKey = [
  ...['chunk_receipt', 'reject', 'account_meter', 'tenancy', 'erasure', 'history_request'],
  ...[
    'held_read',
    'held_claim',
    'restatement',
    'confirmation',
    'provisional_length',
    'usage_read',
    'usage_day_row',
    'stale_day',
    'source_state',
    'system_state',
    'healed',
    'machine',
    'rejects_erasure',
    'schema_migration',
  ],
  ...['published_rows', 'verification'],
  ...['billing_period_row', 'bill_line_row', 'invoice_line_row', 'payment_plan_row'],
  ...['termination_row', 'schedule_version', 'billing_cycle_row', 'rate_code_row'],
  ...['rate_tou_row', 'rate_tier_row', 'rate_flat_row', 'rate_fixed_row', 'holiday_row'],
  ...['bill_run_row', 'bill_plan', 'bill_state', 'comparison_run_row', 'comparison_state'],
]
/** Rows of a run, which nobody sees before its row of `bill_run_row` or `comparison_run_row`. */
const byRun = ['bill_row', 'bill_variance_row', 'rate_comparison_row']

const local = '(staging_\\*_\\w+|bill_\\w+_\\*|self_test_\\*)'
const named = (names: readonly string[]) => `(${names.join('|')})`
const matches = (pattern: string) => {
  const whole = new RegExp(`^(?:${pattern})$`)
  return (shape: string) => whole.test(shape)
}
const any = '( FROM .*)?'

/** Each shape has exactly one verdict. */
export const verdicts: readonly Verdict[] = [
  {
    title: 'Tables of one file or one run',
    oneServer:
      'made, filled and dropped by the step that needs them; a step that runs again makes them again',
    replicas:
      'tables of one server, never replicated; where another server answers they are not there (`UNKNOWN_TABLE`), and the file is loaded, or the run made, again',
    holds: matches(
      `(CREATE( OR REPLACE)? TABLE|INSERT INTO|DROP|TRUNCATE) ${local}${any}|ALTER TABLE ${local} ATTACH PARTITION FROM ${local}`,
    ),
  },
  {
    title: 'Inserts under a token',
    oneServer: 'one insert under a token counts, whoever repeats it',
    replicas:
      'the same through Keeper, within the window that the table states; a majority has the rows when it returns (`insert_quorum`); a claim reads back whether it won',
    holds: matches(`INSERT INTO ${named(byToken)}${any}`),
  },
  {
    title: 'Inserts of rows that replace each other',
    oneServer: 'a repeat writes rows of the same key and version, of which one counts',
    replicas: 'the same; a majority has the rows when it returns (`insert_quorum`)',
    holds: matches(`INSERT INTO ${named(byKey)}${any}`),
  },
  {
    title: 'Inserts of a run',
    oneServer:
      'seen when the run is published; a repeat is another run, the rows of the first are deleted',
    replicas: 'the same; a majority has the rows when it returns (`insert_quorum`)',
    holds: matches(`INSERT INTO ${named(byRun)}${any}`),
  },
  {
    title: 'The attach',
    oneServer:
      'all reads of a file are visible, or none; a repeat attaches rows that change nothing',
    replicas:
      'one entry of the log, on each replica at once; waits for the replicas that are up (`alter_sync = 2`), and for a majority to be up',
    holds: matches(`ALTER TABLE (usage_read|\\w+_row|self_test) ATTACH PARTITION FROM ${local}`),
  },
  {
    title: 'Deletions and changes of rows',
    oneServer: 'waits until no part holds the rows; a repeat finds none',
    replicas:
      'conditions are constants, since each replica would evaluate a query by what it has; a replica that is away carries them out when it is back; rows are counted afterwards, and an erasure stays open until all replicas are done',
    holds: matches(`ALTER TABLE \\w+ (DELETE|UPDATE|DROP PARTITION)|DELETE FROM \\w+`),
  },
  {
    title: 'Parts that the server set aside',
    oneServer: 'dropped when their rows are back',
    replicas: 'those of the server that answers; others keep theirs, which nobody reads',
    holds: matches('ALTER TABLE \\w+ DROP DETACHED'),
  },
  {
    title: 'Schema',
    oneServer: 'each statement may run twice',
    replicas:
      '`ON CLUSTER`: each server carries it out, or the upgrade stops before the first change',
    holds: matches(
      'CREATE( OR REPLACE)? (DATABASE|TABLE|VIEW|DICTIONARY) (?!staging_|bill_\\w+_\\*|self_test_).*',
    ),
  },
  {
    title: 'Control of the server',
    oneServer: 'not sent',
    replicas: 'waits for what other replicas wrote, on the server that answers',
    holds: matches('SYSTEM SYNC REPLICA( LIGHTWEIGHT)?'),
  },
  {
    title: 'Reads of what the server says of itself',
    oneServer: 'true when asked',
    replicas:
      'about the server that answers; a table of a file that it does not have counts as lost',
    holds: matches('SELECT|SELECT FROM .*\\bsystem\\..*'),
  },
  {
    title: 'Reads of tables of one file or one run',
    oneServer: 'what the step wrote',
    replicas:
      '`UNKNOWN_TABLE` on a server that does not have them: the file is loaded, or the run made, again',
    holds: (shape) => /^SELECT FROM /.test(shape) && /_\*/.test(shape) && !/system\./.test(shape),
  },
  {
    title: 'Reads',
    oneServer: 'what is stored',
    replicas:
      'what that replica has; a step waits first until it has all (`SYSTEM SYNC REPLICA`), a reader may see an older state, never a part of a file',
    holds: (shape) => /^SELECT FROM /.test(shape) && !/_\*|system\./.test(shape),
  },
]

/** The verdict of a shape. Throws for a shape that has none, or several. */
export function verdictOf(shape: string): Verdict {
  const [found, ...others] = verdicts.filter(({ holds }) => holds(shape))
  if (found !== undefined && others.length === 0) return found
  const names = [found, ...others].flatMap((one) => one?.title ?? [])
  throw new Error(`"${shape}" has ${names.length} verdicts (${names.join(', ')}); see verdicts.ts`)
}
