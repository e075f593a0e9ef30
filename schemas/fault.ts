interface FaultRule {
  readonly retry: boolean
  readonly meaning: string
}

/** A later attempt fails too, until somebody changes something. */
const final = (meaning: string): FaultRule => ({ retry: false, meaning })
/** A later attempt may succeed with nothing changed. */
const passing = (meaning: string): FaultRule => ({ retry: true, meaning })

/** Every way in which a file, an external system or a start can fail, and what to do about it. */
export const faultCodes = {
  FILE_NAME: final(
    'The name is not <CompanyCode>_<DDMMYYYY>_<Feed>[_<n>].csv[.gz|.zip]. Rename the file, or set fileNames.',
  ),
  COMPANY_CODE: final(
    'The company is not in companyCodes. Send the file to its own utility, or add the code to the profile.',
  ),
  HEADER: final(
    'The header row does not match the feed or usage.format. Fix the columns or the setting that the message names.',
  ),
  EMPTY_FILE: final('The file has no bytes or no header. Export it and send it again.'),
  NO_ROWS: final(
    'The schedule or usage file has a header and no rows. If there are rows for it, export and send it again.',
  ),
  ENCODING: final('The file is not UTF-8 text. Export it as UTF-8 and send it again.'),
  ROW_LENGTH: final(
    'No line ends within a whole chunk. Export the file with one row per line and send it again.',
  ),
  TRUNCATED: final('The file ends in the middle of a row. Send the complete file again.'),
  ARCHIVE: final(
    'The gzip or zip is damaged or does not contain exactly one file. Pack the file again and send it.',
  ),
  RATIO: final(
    'The archive expands beyond limits.ratioMax. Send the file uncompressed, or raise the limit.',
  ),
  FILE_TOO_LARGE: final(
    'The file or a row exceeds limits.fileBytesMax or rowBytesMax. Split the file, or raise the limit.',
  ),
  TOO_MANY_REJECTED: final(
    'More rows were rejected than usage.rejectedShareMax allows. Fix them and send the file again, or run tieline accept.',
  ),
  SCHEDULE: final(
    'A complete schedule, or another file of its set, has errors. Fix them and send all files of the set again.',
  ),
  DATE_ORDER: final(
    'The dates are written in another order than dateOrder of the profile. Fix the export or the setting.',
  ),
  INTERVAL_NUMBER: final(
    'The numbers of intervals contradict the profile on a day when the clock changes. Fix what the message names.',
  ),
  UNBALANCED: final(
    'Row counts or control totals do not add up to what was read. Keep the file and report its receipt.',
  ),
  FILE_AHEAD: passing(
    'Waiting for an earlier file to be published; see file_load. Resumes automatically.',
  ),
  ATTEMPTS: final(
    'All attempts failed. Fix the cause that the receipt names, then run tieline load with the file.',
  ),
  SOURCE_UNREACHABLE: passing(
    'No response from the source. Check that it is up and that its address in sources is right.',
  ),
  SOURCE_CHANGED: passing(
    'The file changed while it was read. It is read again when its sender has finished; no action is needed.',
  ),
  SOURCE_LOGIN: passing(
    'The source rejected the login. Fix the user, key or password of the source in the profile.',
  ),
  SOURCE_IDENTITY: passing(
    "The server's key is not the one in the profile. Ask the operator of the server before you change it.",
  ),
  SOURCE_REFUSED: passing(
    'The source rejected a request. Fix what the message names; the request is retried automatically.',
  ),
  SOURCE_REMOVED: final(
    'The source of the file is not in the profile any more. Restore it and the file is loaded, or run tieline load with the file.',
  ),
  STORE_UNREACHABLE: passing(
    'No response from ClickHouse, or it cannot serve now. Check that it is up and that its address is right. Where the message or the log names a right, a password or a limit, change it for the user.',
  ),
  STORE_BUSY: passing(
    'ClickHouse did not answer this query in time: it is busy, or silent for less than 30 seconds. The figures follow when it answers; system.processes lists what it runs.',
  ),
  REPLICA_AWAY: passing(
    'Too few replicas of ClickHouse are up for a change. Start the server that is away; the change is repeated automatically.',
  ),
  STAGING_LOST: passing(
    'Another ClickHouse server answers than the one that had the rows in progress. The work starts again automatically.',
  ),
  STORE_REFUSED: final(
    'ClickHouse rejected a statement. Read the reason in the message: rights, a missing migration, or a limit.',
  ),
  QUEUE_UNREACHABLE: passing(
    'No response from Redis, or it refuses commands. Check that it is up and takes writes, and its address and password.',
  ),
  FILE_STATE: final(
    'The state of the file does not allow this action. Read the reason in the detail.',
  ),
  DISK_FULL: passing(
    'The disk has too little free space. Free some, or lower limits.freeDiskBytesMin.',
  ),
  PERMISSION: passing(
    'A file or folder cannot be read or written. Give the service user access to it.',
  ),
  PROFILE: final(
    'The profile is not valid. Fix the settings that the message names, then start again.',
  ),
  CONFIG: final('An option or environment variable is not valid. Fix what the message names.'),
  PORT_TAKEN: final('Another program is using the port. Stop it, or choose another port.'),
  MISSING_PROGRAM: final(
    'A required program is not installed. Install the one that the message names.',
  ),
  IDENTITY_UNREACHABLE: passing(
    'No response or no keys from the identity provider. Check that it is up and that identity is right.',
  ),
  CIS_UNREACHABLE: passing(
    'No timely response from the CIS. Check that it is up and that cis in the profile is right.',
  ),
  CIS_ANSWER: final(
    'The CIS returned an invalid customer record. Fix the record or cis.fields, then run tieline probe customer.',
  ),
  AMI_UNREACHABLE: passing(
    'No timely response from the AMI head-end. Check that it is up and that ami.url is right.',
  ),
  AMI_ANSWER: final('The AMI head-end returned an invalid answer. Fix ami in the profile.'),
  MDM_UNREACHABLE: passing(
    'No timely response from the MDM. Check that it is up and that backfill.url is right.',
  ),
  MDM_ANSWER: final('The MDM returned invalid usage. Fix its answer, or backfill in the profile.'),
  TRACES_UNREACHABLE: passing(
    'No response from the trace receiver; nothing waits for it. Check it and OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  ALERT_UNREACHABLE: passing(
    'No response from the alert receiver. Check that it is up and that alerts.url is right.',
  ),
  ALERT_REFUSED: final(
    'The alert receiver rejected an alert. Fix alerts.url or alerts.secret, or the receiver.',
  ),
  NOTICE_UNREACHABLE: passing(
    'The receiver of reads.notify did not accept a notice. Check that it is up and that reads.notify is right.',
  ),
  OVERLOAD: passing(
    'More requests are in flight than the limits allow. Add a gateway, or raise the limit.',
  ),
  LISTENER: final(
    'A listener cannot start. Fix the address or the certificate that the detail names.',
  ),
  ALREADY_RUNNING: final(
    'Another Tieline is using this data folder. Stop it, or choose another data folder.',
  ),
} as const satisfies Record<string, FaultRule>

export type FaultCode = keyof typeof faultCodes

/**
 * A failure of a file, an external system or a start: thrown with a code for machines and a detail
 * that names the thing, the value and what to do. Rows are judged by values and never throw.
 */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly detail: string
  readonly retry: boolean

  constructor(code: FaultCode, detail: string, options?: { cause?: unknown }) {
    super(`${code}: ${detail}`, options)
    this.code = code
    this.detail = detail
    this.retry = faultCodes[code].retry
  }
}
