/**
 * The commands that an operator has to run if the credentials of `migrate` do not allow it to prepare Temporal: on
 * Temporal Cloud namespaces and search attributes are created with `tcld`, on other servers with `temporal`, by a user
 * with the permissions.
 */
import type { TemporalConfig } from '../config/connections.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

/**
 * One complete command that can be pasted, except for placeholders in angle brackets. It refers to credentials by the
 * names of the variables that contain them, and a shell reports one that is missing.
 */
export interface ManualStep {
  /** What it creates: `the namespace darkroom`. */
  readonly what: string;
  readonly command: string;
}

const FORBIDDEN =
  'the credentials of this process may not do what follows. Run it with credentials that may, and then `migrate` again';

/** Temporal is not prepared. The message lists what to run. */
export class ManualStepsError extends DarkroomError {
  override readonly name = 'ManualStepsError';
  override readonly kind = 'operator_action_required';
  /** @param reason why it is not prepared, and what to do with the steps. */
  constructor(steps: readonly ManualStep[], reason = FORBIDDEN) {
    super(
      [
        `Temporal is not prepared: ${reason}:`,
        ...steps.flatMap(({ what, command }) => ['', `# ${what}`, command]),
      ].join('\n'),
    );
  }
}

const isCloud = ({ address }: TemporalConfig): boolean =>
  /\.(?:tmprl\.cloud|api\.temporal\.io)(?::\d+)?$/i.test(address);

export function namespaceStep(server: TemporalConfig, retentionDays: number): ManualStep {
  const { namespace } = server;
  const [name = namespace] = namespace.split('.');
  return {
    what: `the namespace ${namespace}, or the right to use it`,
    command: isCloud(server)
      ? [`tcld namespace create --namespace ${quoted(name)} --retention-days ${retentionDays}`]
          .concat(cloudRegion(server), cloudAuthentication(server))
          .join(' ')
      : temporal(server, `operator namespace create --retention ${retentionDays}d`),
  };
}

/**
 * A regional endpoint, `<region>.<provider>.api.temporal.io`, contains the location of its namespaces; `tcld` assumes
 * AWS by default.
 */
function cloudRegion({ address }: TemporalConfig): string {
  const [, region = '<region>', provider = '<provider>'] =
    /^([\w-]+)\.([\w-]+)\.api\.temporal\.io(?::\d+)?$/i.exec(address) ?? [];
  return `--cloud-provider ${provider} --region ${region}`;
}

/**
 * The authentication that the namespace must accept: the one that we use. `tcld` assumes mTLS by default, which needs
 * the clients' CA.
 */
function cloudAuthentication({ apiKey, tls }: TemporalConfig): string {
  const ca = '--ca-certificate-file <ca.pem>';
  if (apiKey === undefined) return `--auth-method mtls ${ca}`;
  return tls?.certificate === undefined ? '--auth-method api_key' : `--auth-method api_key_or_mtls ${ca}`;
}

export function retentionStep(server: TemporalConfig, retentionDays: number): ManualStep {
  return {
    what: `the retention of the namespace ${server.namespace}`,
    command: isCloud(server)
      ? `tcld namespace retention set --namespace ${quoted(server.namespace)} --retention-days ${retentionDays}`
      : temporal(server, `operator namespace update --retention ${retentionDays}d`),
  };
}

/** @param names of attributes, all of type Keyword. */
export function searchAttributesStep(server: TemporalConfig, names: readonly string[]): ManualStep {
  return {
    what: `the search attributes ${names.join(', ')}; one that already exists has to be of type Keyword`,
    command: isCloud(server)
      ? ['tcld namespace search-attributes add', `--namespace ${quoted(server.namespace)}`]
          .concat(names.map((name) => `--search-attribute ${quoted(`${name}=Keyword`)}`))
          .join(' ')
      : temporal(server, 'operator search-attribute create', ...names.map((name) => `--name ${name} --type Keyword`)),
  };
}

/** How to list the types of the search attributes. */
export function listTypesStep(server: TemporalConfig): ManualStep {
  return {
    what: 'the types of the search attributes',
    command: isCloud(server)
      ? `tcld namespace get --namespace ${quoted(server.namespace)}`
      : temporal(server, 'operator search-attribute list'),
  };
}

/** A search attribute that exists with a type other than ours. */
interface Conflict {
  readonly name: string;
  readonly type: string;
  readonly expected: string;
}

/** How to resolve the conflict: on Temporal Cloud it can be renamed, on other servers it can only be removed. */
export function conflictStep(server: TemporalConfig, { name, type, expected }: Conflict): ManualStep {
  return {
    what: `the search attribute ${name}, which is of type ${type} and has to be of type ${expected}`,
    command: isCloud(server)
      ? ['tcld namespace search-attributes rename', `--namespace ${quoted(server.namespace)}`]
          .concat(`--existing-name ${name}`, '--new-name <name>')
          .join(' ')
      : temporal(server, `operator search-attribute remove --name ${name}`),
  };
}

/** A schedule that our credentials may not create, as described on the command line. */
export interface ForbiddenSchedule {
  /** `update` if it exists with another definition. */
  readonly verb: 'create' | 'update';
  readonly scheduleId: string;
  /** In Go's notation for durations: `60s`, `60m/5m` with an offset. */
  readonly interval: string;
  readonly catchupWindow: string;
  readonly workflowType: string;
  readonly taskQueue: string;
  readonly args: readonly unknown[];
  /** Why it is paused; undefined: it is not paused. */
  readonly pauseNote: string | undefined;
}

export function scheduleStep(server: TemporalConfig, schedule: ForbiddenSchedule): ManualStep {
  const { pauseNote } = schedule;
  return {
    what: `the schedule ${schedule.scheduleId}`,
    command: temporal(
      server,
      `schedule ${schedule.verb} --schedule-id ${schedule.scheduleId}`,
      `--interval ${schedule.interval} --overlap-policy Skip --catchup-window ${schedule.catchupWindow}`,
      `--type ${schedule.workflowType} --task-queue ${schedule.taskQueue} --workflow-id ${schedule.scheduleId}`,
      ...schedule.args.map((arg) => `--input ${quoted(JSON.stringify(arg))}`),
      ...(pauseNote === undefined ? [] : [`--paused --notes ${quoted(pauseNote)}`]),
    ),
  };
}

/** A command of `temporal`, which reads an API key from its environment, where other processes cannot see it. */
function temporal(server: TemporalConfig, ...words: readonly string[]): string {
  const { address, namespace, apiKey } = server;
  return [
    ...(apiKey === undefined ? [] : [`TEMPORAL_API_KEY=${variable('TEMPORAL_API_KEY')}`]),
    'temporal',
    ...words,
    `--namespace ${quoted(namespace)} --address ${quoted(address)}`,
    ...tlsFlags(server),
  ].join(' ');
}

/** The TLS options of a command, as variables, because the operator who runs it has different files. */
function tlsFlags({ tls }: TemporalConfig): readonly string[] {
  if (tls === undefined) return [];
  return [
    '--tls',
    ...(tls.ca === undefined ? [] : [`--tls-ca-path ${variable('TEMPORAL_TLS_CA_FILE')}`]),
    ...(tls.certificate === undefined ? [] : [`--tls-cert-path ${variable('TEMPORAL_TLS_CERT_FILE')}`]),
    ...(tls.key === undefined ? [] : [`--tls-key-path ${variable('TEMPORAL_TLS_KEY_FILE')}`]),
  ];
}

/** A POSIX shell expands it to the variable, and stops if that is unset or empty. */
function variable(name: string): string {
  return `"\${${name}:?}"`;
}

/** Quotes a string as one word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w.:/=@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
