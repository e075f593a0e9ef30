/** A meter in the head-end; hubs are named by their address in upper case. */
export interface AmiMeter {
  readonly meterId: string
  readonly isAMI: boolean
  /** The bound hub. */
  readonly boundTo: string | undefined
  /** The hub of a pending action. */
  readonly pendingFor: string | undefined
}

export interface AmiAction {
  /** Our id, the same for every attempt of an action. */
  readonly actionId: string
  readonly actionCode: 0 | 1
  readonly meterId: string
  readonly macAddress: string
  readonly installCode: string
  readonly hemProfileId: string
  readonly accountSlid: string
}

/** The head-end's response to an action; `refused` is final. */
export type AmiOutcome = 'success' | 'pending' | 'refused'

/**
 * A driver for one kind of AMI head-end. Throws `AMI_ANSWER`, or `AMI_UNREACHABLE`, after which the
 * outcome of an action is unknown.
 */
export interface Ami {
  /** The meter of an account service location; undefined if there is none. */
  locate(accountSlid: string): Promise<string | undefined>
  meter(meterId: string): Promise<AmiMeter | undefined>
  act(action: AmiAction): Promise<AmiOutcome>
  close(): Promise<void>
}
