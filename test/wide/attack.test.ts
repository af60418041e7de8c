/**
 * The attack campaign for a minute: no neighbour's request is rejected or left without a response, nothing ends or
 * grows, and every invariant of the fault campaign holds afterwards. How long the neighbour waited is reported and
 * not checked here: `npm run attack` checks it, on an otherwise idle machine.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { runAttackCampaign } from '../attack/campaign/campaign.ts';
import { summaryOf } from '../attack/campaign/report.ts';

describe('an installation that is attacked', () => {
  it('serves the account beside the attackers, and is as it should be afterwards', async (t) => {
    const campaign = await runAttackCampaign({ seed: 1, minutes: 1, report: (line) => t.diagnostic(line) });

    t.diagnostic(summaryOf(campaign));
    const faults = [...campaign.faults, ...campaign.phases.flatMap((phase) => phase.faults)];
    assert.deepEqual(faults, []);
    assert.deepEqual(campaign.violations, []);
    await rm(campaign.directory, { recursive: true, force: true });
  });
});
