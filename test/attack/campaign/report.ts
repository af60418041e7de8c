/** The findings of an attack campaign, as lines for a terminal. */
import type { AttackCampaign, AttackPhase } from './campaign.ts';
import type { AttackLine } from './attack-log.ts';
import { ratioOf } from './verdict.ts';
import type { MemorySample } from './verdict.ts';

const SHOWN = 40;

export function isGood({ phases, faults, violations }: AttackCampaign): boolean {
  return phases.every((phase) => !isNoticed(phase)) && faults.length === 0 && violations.length === 0;
}

/** Whether others noticed this part of the attack. */
export function isNoticed({ faults, delays }: AttackPhase): boolean {
  return faults.length + delays.length > 0;
}

export function summaryOf(campaign: AttackCampaign): string {
  const { seed, minutes, phases, attacks, memory, faults, violations } = campaign;
  return [
    `seed ${seed}, ${minutes} min`,
    'the neighbour, in ms: requests · median · p99 without the attack | under attack | p99 under attack by that without',
    ...phases.flatMap(linesOf),
    'the attacks, by how they were answered (0: not at all, or not waited for)',
    ...[...grouped(attacks)].map(([attack, statuses]) => `  ${attack.padEnd(30)} ${statuses}`),
    'memory at most, in MB: the process itself, and its largest child',
    ...[...most(memory)].map(([part, text]) => `  ${part.padEnd(10)} ${text}`),
    ...(faults.length === 0 ? [] : [`NOTICED: ${faults.length}`]),
    ...faults.slice(0, SHOWN).map((fault) => `  ${fault}`),
    violations.length === 0 ? 'every invariant of the fault campaign holds' : `VIOLATIONS: ${violations.length}`,
    ...violations.slice(0, SHOWN).map(({ invariant, subject, detail }) => `  ${invariant}\n    ${subject}: ${detail}`),
  ].join('\n');
}

function linesOf(phase: AttackPhase): readonly string[] {
  const noticed = [...phase.faults, ...phase.delays];
  return [
    `${phase.name}: ${noticed.length === 0 ? 'no one noticed it' : `NOTICED: ${noticed.length}`}`,
    ...noticed.slice(0, SHOWN).map((fault) => `  ${fault}`),
    ...phase.latencies.map((latency) => {
      const { kind, idle, attacked } = latency;
      const of = ({ count, p50, p99 }: typeof idle): string => `${count} · ${p50} · ${p99}`;
      return `  ${kind.padEnd(10)} ${of(idle).padEnd(20)} | ${of(attacked).padEnd(20)} | ${ratioOf(latency).toFixed(2)}`;
    }),
  ];
}

function grouped(lines: readonly AttackLine[]): ReadonlyMap<string, string> {
  const counts = new Map<string, Map<number, number>>();
  for (const { attack, status } of lines) {
    const statuses = counts.get(attack) ?? new Map<number, number>();
    counts.set(attack, statuses.set(status, (statuses.get(status) ?? 0) + 1));
  }
  return new Map(
    [...counts].map(([attack, statuses]) => {
      const sorted = [...statuses].toSorted(([one], [other]) => one - other);
      return [attack, sorted.map(([status, count]) => `${status}: ${count}`).join(' · ')];
    }),
  );
}

function most(samples: readonly MemorySample[]): ReadonlyMap<string, string> {
  const parts = [...new Set(samples.map(({ part }) => part))];
  return new Map(
    parts.map((name) => {
      const own = samples.filter(({ part }) => part === name);
      const process = Math.max(...own.map(({ processMb }) => processMb));
      const child = Math.max(...own.map(({ largestChildMb }) => largestChildMb));
      return [name, `${Math.round(process)}, ${Math.round(child)}`];
    }),
  );
}
