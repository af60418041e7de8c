/**
 * What an operator has to run where the credentials of `migrate` may not prepare Temporal: on Temporal Cloud namespaces and
 * search attributes are made with `tcld`, on other servers with `temporal`, by whoever may.
 */
import type { TemporalConfig } from '../config/config.ts';

/** One command, whole and ready to be pasted, but for what stands in angle brackets. */
export interface ManualStep {
  /** What it makes: `the namespace darkroom`. */
  readonly what: string;
  readonly command: string;
}

/** Temporal is not prepared. The message lists what to run. */
export class ManualStepsError extends Error {
  override readonly name = 'ManualStepsError';
  constructor(steps: readonly ManualStep[]) {
    super(
      [
        'Temporal is not prepared: the credentials of this process may not do what follows. Run it with credentials ' +
          'that may, and then `migrate` again:',
        ...steps.flatMap(({ what, command }) => ['', `# ${what}`, command]),
      ].join('\n'),
    );
  }
}

type Server = Pick<TemporalConfig, 'address' | 'namespace' | 'tls'>;

const isCloud = ({ address }: Server): boolean => /\.(?:tmprl\.cloud|api\.temporal\.io)(?::\d+)?$/i.test(address);

export function namespaceStep(server: Server, retentionDays: number): ManualStep {
  const { namespace } = server;
  const [name = namespace] = namespace.split('.');
  return {
    what: `the namespace ${namespace}, or the right to use it`,
    command: isCloud(server)
      ? `tcld namespace create --namespace ${quoted(name)} --region <region> --retention-days ${retentionDays}`
      : `temporal operator namespace create --retention ${retentionDays}d ${target(server)}`,
  };
}

export function retentionStep(server: Server, retentionDays: number): ManualStep {
  return {
    what: `the retention of the namespace ${server.namespace}`,
    command: isCloud(server)
      ? `tcld namespace retention set --namespace ${quoted(server.namespace)} --retention-days ${retentionDays}`
      : `temporal operator namespace update --retention ${retentionDays}d ${target(server)}`,
  };
}

/** @param names of attributes, all of type Keyword. */
export function searchAttributesStep(server: Server, names: readonly string[]): ManualStep {
  return {
    what: `the search attributes ${names.join(', ')}`,
    command: isCloud(server)
      ? ['tcld namespace search-attributes add', `--namespace ${quoted(server.namespace)}`]
          .concat(names.map((name) => `--search-attribute ${quoted(`${name}=Keyword`)}`))
          .join(' ')
      : ['temporal operator search-attribute create', ...names.map((name) => `--name ${name} --type Keyword`)]
          .concat(target(server))
          .join(' '),
  };
}

/** A schedule that our credentials may not make, as the command line describes it. */
export interface ForbiddenSchedule {
  /** `update` where it exists with another definition. */
  readonly verb: 'create' | 'update';
  readonly scheduleId: string;
  /** As Go writes durations: `60s`, `60m/5m` with an offset. */
  readonly interval: string;
  readonly catchupWindow: string;
  readonly workflowType: string;
  readonly taskQueue: string;
  readonly args: readonly unknown[];
}

export function scheduleStep(server: Server, schedule: ForbiddenSchedule): ManualStep {
  return {
    what: `the schedule ${schedule.scheduleId}`,
    command: [
      `temporal schedule ${schedule.verb} --schedule-id ${schedule.scheduleId}`,
      `--interval ${schedule.interval} --overlap-policy Skip --catchup-window ${schedule.catchupWindow}`,
      `--type ${schedule.workflowType} --task-queue ${schedule.taskQueue} --workflow-id ${schedule.scheduleId}`,
      ...schedule.args.map((arg) => `--input ${quoted(JSON.stringify(arg))}`),
      target(server),
    ].join(' '),
  };
}

/** A schedule of an earlier release that our credentials may not delete. */
export function formerScheduleStep(server: Server, scheduleId: string): ManualStep {
  return {
    what: `the end of the schedule ${scheduleId}, which was made by an earlier release`,
    command: `temporal schedule delete --schedule-id ${scheduleId} ${target(server)}`,
  };
}

/** Which server and namespace; an API key is read from TEMPORAL_API_KEY by the command itself. */
function target({ address, namespace, tls }: Server): string {
  return `--namespace ${quoted(namespace)} --address ${quoted(address)}${tls === undefined ? '' : ' --tls'}`;
}

/** As one word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w.:/=@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
