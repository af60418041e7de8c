/**
 * Callbacks: failing endpoints, the signing secret, a test delivery, recent attempts, and code that verifies
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
import { FailingEndpoints } from './failing-endpoints.tsx';
import { SigningSecretSection } from './signing-secret-section.tsx';
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
  const failing = account?.callbackProblems ?? [];
  const showAttempts = (origin: string): void => {
    setFilter({ state: undefined, origin });
    attempts.current?.scrollIntoView({ block: 'start' });
    attempts.current?.focus({ preventScroll: true });
  };
  return (
    <>
      <PageHeader title={texts.title}>{texts.about}</PageHeader>
      <Stack gap="lg">
        <FailingEndpoints
          mayRead={mayReadAccount}
          endpoints={failing}
          error={account === undefined ? error : null}
          onRetry={() => void refetch()}
          onShowAttempts={mayReadTasks ? showAttempts : undefined}
        />
        {mayManage ? (
          <>
            <SigningSecretSection />
            <TestDeliverySection />
          </>
        ) : (
          <NeedsScope scope="webhooks:manage" action={texts.secret.need} />
        )}
        <div ref={attempts} tabIndex={-1}>
          {mayReadTasks ? (
            <Attempts filter={filter} onFilter={setFilter} failingOrigins={failing.map(({ origin }) => origin)} />
          ) : (
            <NeedsScope scope="tasks:read" action={texts.attempts.need} />
          )}
        </div>
        <VerificationCode />
      </Stack>
    </>
  );
}
