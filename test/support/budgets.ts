/**
 * What the files of a directory may take together, in seconds on two idle cores. One that takes more is marked at the
 * end of a run, which does not fail: a change that exceeds its budget makes its tests faster, or moves them to a group
 * of `npm run test:wide` (scripts/test-files.mjs).
 */
export const TEST_BUDGET_SECONDS: Readonly<Record<string, number>> = {
  deploy: 1000,
  web: 1900,
  faults: 1150,
  e2e: 620,
  http: 520,
  clients: 330,
  engines: 280,
  kill: 210,
  commands: 200,
  fairness: 160,
  text: 160,
  generation: 150,
  media: 150,
  attack: 250,
  standalone: 115,
  telemetry: 110,
  callbacks: 90,
  tasks: 90,
  limits: 80,
  providers: 150,
  egress: 70,
  workflows: 70,
  temporal: 60,
  database: 55,
  upstreams: 40,
};
