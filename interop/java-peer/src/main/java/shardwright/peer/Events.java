package shardwright.peer;

import com.google.gson.Gson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What has happened here, a line of JSON each, in a file that all members of the job add to.
 *
 * <p>Each line is one write at the file's end: lines of several processes do not mix, their order is that of the
 * events, and none is lost when its writer is killed.
 */
final class Events {

    private final FileChannel file;
    private final String who;
    private final Gson json = new Gson();

    Events(final Settings settings) throws IOException {
        file = FileChannel.open(Path.of(settings.events()), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        who = settings.who();
    }

    void add(final String event) {
        add(event, Map.of());
    }

    void add(final String event, final Map<String, ?> more) {
        final Map<String, Object> told = new LinkedHashMap<>();
        told.put("event", event);
        told.put("who", who);
        told.put("at", System.currentTimeMillis());
        told.putAll(more);
        try {
            file.write(ByteBuffer.wrap((json.toJson(told) + "\n").getBytes(StandardCharsets.UTF_8)));
        } catch (final IOException lost) {
            throw new UncheckedIOException(lost);
        }
    }
}
