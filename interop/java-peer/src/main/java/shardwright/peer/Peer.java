package shardwright.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * A Java member of a job, steered by lines on its standard input: {@code trigger} has the job fire on all members,
 * as ElasticJob's console does; {@code stop}, or the end of input, has this one leave. One that is told to wait says
 * when it is ready, and joins with the first line.
 */
public final class Peer {

    private Peer() {
    }

    public static void main(final String[] args) throws IOException, ReflectiveOperationException {
        final Settings settings = Settings.read(args[0]);
        final Events events = new Events(settings);
        final Member member = new Member(settings, events);
        final var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        member.connect();
        if (settings.waits()) {
            events.add("ready");
            lines.readLine();
        }
        member.join();
        events.add("joined");
        obey(member, lines);
        member.leave();
        events.add("left");
        System.exit(0); // Quartz leaves threads behind
    }

    private static void obey(final Member member, final BufferedReader lines) throws IOException {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            switch (line) {
                case "trigger" -> member.trigger();
                case "stop" -> {
                    return;
                }
                default -> throw new IllegalArgumentException("a peer knows trigger and stop, not " + line);
            }
        }
    }
}
