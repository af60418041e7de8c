/**
 * The attack campaign for a minute: nobody is refused or left without an answer, nothing ends or grows, and every invariant
 * of the fault campaign holds afterwards. How long the neighbour waited is told and not judged here: `npm run attack` does,
 * on a machine that has nothing else to do.
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
    assert.deepEqual(campaign.faults, []);
    assert.deepEqual(campaign.violations, []);
    await rm(campaign.folder, { recursive: true, force: true });
  });
});
