import java.nio.file.Path;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Neo4j Community on a folder and a loopback port, with auth on. The password is in NEO4J_TEST_PASSWORD; other
 * settings are in the folder's neo4j.conf. It runs until it is ended. */
public final class Neo4jServer {
    public static void main(String[] arguments) throws InterruptedException {
        var folder = Path.of(arguments[0]);
        var service = new DatabaseManagementServiceBuilder(folder)
                .loadPropertiesFromFile(folder.resolve("neo4j.conf"))
                .setConfig(GraphDatabaseSettings.auth_enabled, true)
                .setConfig(GraphDatabaseSettings.pagecache_memory, 512L << 20)
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1])))
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(service::shutdown));
        service.database("system").executeTransactionally("CREATE OR REPLACE USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED",
                Map.of("password", System.getenv("NEO4J_TEST_PASSWORD")));
        System.out.println("ready");
        Thread.currentThread().join();
    }
}
