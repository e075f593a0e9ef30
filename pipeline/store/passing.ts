/**
 * Errors of ClickHouse that pass by themselves, or when an administrator lifts a limit, by code, each with
 * its name and why. A statement that failed with one of them is repeated for as long as it takes; inserts
 * carry tokens, so that one which was carried out all the same counts once.
 */
export const passingErrors: ReadonlyMap<string, string> = new Map([
  ['158', 'TOO_MANY_ROWS: more than the limit of the user'],
  ['159', 'TIMEOUT_EXCEEDED: the server was too busy'],
  ['160', 'TOO_SLOW: below the least speed of the user'],
  ['173', 'CANNOT_ALLOCATE_MEMORY: by what else the machine does'],
  ['191', 'SET_SIZE_LIMIT_EXCEEDED: more than the limit of the user'],
  ['198', 'DNS_ERROR: between servers'],
  ['201', 'QUOTA_EXCEEDED: until the interval of the quota ends'],
  ['202', 'TOO_MANY_SIMULTANEOUS_QUERIES: the server is too busy'],
  ['203', 'NO_FREE_CONNECTION: to another server of the cluster'],
  ['209', 'SOCKET_TIMEOUT: between servers'],
  ['210', 'NETWORK_ERROR: between servers'],
  ['225', 'NO_ZOOKEEPER: the server has lost Keeper and connects again'],
  ['236', 'ABORTED: the server is shutting down'],
  ['241', 'MEMORY_LIMIT_EXCEEDED: by what else the server does'],
  ['242', 'TABLE_IS_READ_ONLY: the replica starts, or has lost Keeper'],
  ['252', 'TOO_MANY_PARTS: merges are behind'],
  ['279', 'ALL_CONNECTION_TRIES_FAILED: no replica of a shard answers'],
  ['285', 'TOO_FEW_LIVE_REPLICAS: too few for a majority'],
  ['286', 'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE: an earlier insert waits for a majority'],
  ['289', 'REPLICA_IS_NOT_IN_QUORUM: the replica lags'],
  ['307', 'TOO_MANY_BYTES: more than the limit of the user'],
  ['319', 'UNKNOWN_STATUS_OF_INSERT: Keeper was lost while rows were committed'],
  ['384', 'PART_IS_TEMPORARILY_LOCKED: by a merge or a change'],
  ['394', 'QUERY_WAS_CANCELLED: by a person, or because the server shuts down'],
  ['416', 'REPLICA_STATUS_CHANGED: the replica has lost Keeper'],
  ['439', 'CANNOT_SCHEDULE_TASK: the server has no free thread'],
  ['473', 'DEADLOCK_AVOIDED: the table was locked for too long'],
  ['499', 'S3_ERROR: the storage of the server does not answer'],
  ['500', 'AZURE_BLOB_STORAGE_ERROR: the storage of the server does not answer'],
  ['517', 'CANNOT_ASSIGN_ALTER: another change of the table comes first'],
  ['692', 'TOO_MANY_MUTATIONS: mutations are behind'],
  ['700', 'USER_SESSION_LIMIT_EXCEEDED: more than the limit of the user'],
  ['724', 'TOO_MANY_TABLES: more than the limit of the server'],
  ['733', 'TABLE_IS_BEING_RESTARTED: by a person'],
  ['745', 'SERVER_OVERLOADED: the server is too busy'],
  ['762', 'HTTP_CONNECTION_LIMIT_REACHED: the server is too busy'],
  ['776', 'RESOURCE_LIMIT_EXCEEDED: by what else the server does'],
  ['999', 'KEEPER_EXCEPTION: Keeper was lost'],
])

/**
 * What an administrator has changed of the user since the start, which tries both: files wait until it is given back,
 * and none is refused for it.
 */
export const withdrawnErrors: ReadonlyMap<string, string> = new Map([
  ['164', 'READONLY: the user may only read'],
  ['192', 'UNKNOWN_USER: the user is gone'],
  ['193', 'WRONG_PASSWORD: the password is another one'],
  ['194', 'REQUIRED_PASSWORD: the user has one now'],
  ['195', 'IP_ADDRESS_NOT_ALLOWED: the user may not come from this host'],
  ['396', 'TOO_MANY_ROWS_OR_BYTES: more than the limit of the user'],
  ['452', 'SETTING_CONSTRAINT_VIOLATION: the user may not change a setting'],
  ['497', 'ACCESS_DENIED: a right is missing'],
  ['516', 'AUTHENTICATION_FAILED: the user is gone, or the password is another one'],
  ['720', 'USER_EXPIRED: the time of the user is over'],
])
