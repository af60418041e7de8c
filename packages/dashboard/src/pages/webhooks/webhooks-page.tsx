/**
 * Callbacks: failing receivers, the signing secret, a test delivery, recent attempts, and code that verifies
 * callbacks.
 */
import { Stack } from '@mantine/core';
import { useRef, useState } from 'react';
import { useAccount } from '../../api/account.ts';
import type { AttemptFilter } from '../../api/webhooks.ts';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/webhooks.ts';
import { Attempts } from './attempts.tsx';
import { FailingReceivers } from './failing-receivers.tsx';
import { SigningKeySection } from './signing-key-section.tsx';
import { TestDeliverySection } from './test-delivery-section.tsx';
import { VerificationCode } from './verification-code.tsx';

const EVERYTHING: AttemptFilter = { state: undefined, origin: undefined };

export default function WebhooksPage() {
  const mayManage = useMay('webhooks:manage');
  const mayReadAccount = useMay('billing:read');
  const mayReadTasks = useMay('tasks:read');
  const [filter, setFilter] = useState(EVERYTHING);
  const attempts = useRef<HTMLDivElement>(null);
  const { data: account, error, refetch } = useAccount(mayReadAccount);
  const problems = account?.callbackProblems ?? [];
  const showAttempts = (origin: string): void => {
    setFilter({ state: undefined, origin });
    attempts.current?.scrollIntoView({ block: 'start' });
    attempts.current?.focus({ preventScroll: true });
  };
  return (
    <>
      <PageHeader title={texts.title}>{texts.about}</PageHeader>
      <Stack gap="lg">
        <FailingReceivers
          mayRead={mayReadAccount}
          problems={problems}
          error={account === undefined ? error : null}
          onRetry={() => void refetch()}
          onShowAttempts={mayReadTasks ? showAttempts : undefined}
        />
        {mayManage ? (
          <>
            <SigningKeySection />
            <TestDeliverySection />
          </>
        ) : (
          <NeedsScope scope="webhooks:manage" what={texts.key.need} />
        )}
        <div ref={attempts} tabIndex={-1}>
          {mayReadTasks ? (
            <Attempts filter={filter} onFilter={setFilter} failingOrigins={problems.map(({ origin }) => origin)} />
          ) : (
            <NeedsScope scope="tasks:read" what={texts.attempts.need} />
          )}
        </div>
        <VerificationCode />
      </Stack>
    </>
  );
}
