/** The secret that signs callbacks: hidden until requested, created, replaced, deleted. */
import { Alert, Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle, IconEye, IconEyeOff, IconInfoCircle, IconRefresh, IconTrash } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useRotateSigningKey, useSigningKey } from '../../api/webhooks.ts';
import type { SigningKey } from '../../api/webhooks.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { CopyIcon } from '../../components/copy.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { tell, tellProblem } from '../../components/tell.ts';
import { Time, formatExact } from '../../components/time.tsx';
import { texts } from '../../texts/webhooks.ts';
import { Section } from '../tasks/section.tsx';
import { RemoveKeyDialog } from './remove-key-dialog.tsx';
import { RotateKeyDialog } from './rotate-key-dialog.tsx';
import { SetKeyDialog } from './set-key-dialog.tsx';

export function SigningKeySection() {
  const { data: key, error, refetch } = useSigningKey(true);
  return (
    <Section title={texts.key.title}>
      {key !== undefined ? (
        <KeyInUse signingKey={key} />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
    </Section>
  );
}

function KeyInUse({ signingKey: key }: { readonly signingKey: SigningKey }) {
  const [doing, setDoing] = useState<'rotate' | 'set' | 'remove'>();
  const make = useRotateSigningKey();
  const firstButton = useRef<HTMLButtonElement>(null);
  const hadKey = useRef(key.hasKey);
  const stop = (): void => setDoing(undefined);
  useEffect(() => {
    // The button that deleted it is gone with the key.
    if (hadKey.current && !key.hasKey) firstButton.current?.focus();
    hadKey.current = key.hasKey;
  }, [key.hasKey]);
  const makeFirst = (): void =>
    make.mutate(undefined, {
      onSuccess: () => tell(texts.key.isMade),
      onError: (error) => tellProblem({ message: error.message }),
    });
  return (
    <Stack>
      <Text size="sm">{texts.key.about}</Text>
      {key.hasKey ? (
        <Secret signingKey={key} />
      ) : (
        <Alert role="status" color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          {texts.key.none}
        </Alert>
      )}
      <Group gap="xs">
        <BusyButton
          ref={firstButton}
          variant={key.hasKey ? 'default' : 'filled'}
          leftSection={key.hasKey ? <IconRefresh size={16} aria-hidden /> : undefined}
          isBusy={make.isPending}
          onClick={key.hasKey ? () => setDoing('rotate') : makeFirst}
        >
          {key.hasKey ? texts.key.rotate : texts.key.make}
        </BusyButton>
        <Button variant="default" onClick={() => setDoing('set')}>
          {texts.key.setOwn}
        </Button>
        {key.hasKey ? (
          <Button
            variant="default"
            leftSection={<IconTrash size={16} aria-hidden />}
            onClick={() => setDoing('remove')}
          >
            {texts.key.remove}
          </Button>
        ) : null}
      </Group>
      <RotateKeyDialog isOpen={doing === 'rotate'} previousExpires={key.previousExpires ?? 0} onClose={stop} />
      <SetKeyDialog isOpen={doing === 'set'} onClose={stop} />
      <RemoveKeyDialog isOpen={doing === 'remove'} onClose={stop} />
    </Stack>
  );
}

function Secret({ signingKey }: { readonly signingKey: SigningKey }) {
  const { secret = '', whsec = '', created = 0, previousExpires = 0 } = signingKey;
  const [isShown, setShown] = useState(false);
  const Icon = isShown ? IconEyeOff : IconEye;
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <SecretField
          label={texts.key.raw}
          hint={texts.key.rawHint}
          copy={texts.key.copyRaw}
          value={secret}
          isShown={isShown}
        />
        <SecretField
          label={texts.key.whsec}
          hint={texts.key.whsecHint}
          copy={texts.key.copyWhsec}
          value={whsec}
          isShown={isShown}
        />
      </SimpleGrid>
      <Group gap="md">
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon size={14} aria-hidden />}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? texts.key.hide : texts.key.show}
        </Button>
        <Text size="sm" c="dimmed" component="div">
          {texts.key.made} <Time seconds={created} />
        </Text>
      </Group>
      <div aria-live="polite">
        {previousExpires === 0 ? null : (
          <Alert color="blue" icon={<IconInfoCircle aria-hidden />}>
            {texts.key.overlap(formatExact(previousExpires))}
          </Alert>
        )}
      </div>
    </>
  );
}

function SecretField(props: {
  readonly label: string;
  readonly hint: string;
  readonly copy: string;
  readonly value: string;
  readonly isShown: boolean;
}) {
  const { label, hint, copy, value, isShown } = props;
  return (
    <TextInput
      label={label}
      description={hint}
      value={isShown ? value : ''}
      placeholder={`•••••••••••• (${texts.key.masked})`}
      readOnly
      autoComplete="off"
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      onFocus={({ currentTarget }) => currentTarget.select()}
      rightSection={<CopyIcon value={value} what={copy} />}
    />
  );
}
