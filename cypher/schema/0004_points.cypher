// name: schema/0004_points
// purpose: the points of a vector index that lives in the service's memory, kept between its starts
// parameters: none
CREATE CONSTRAINT point_id IF NOT EXISTS FOR (p:Point) REQUIRE p.id IS UNIQUE;
CREATE INDEX point_shelf IF NOT EXISTS FOR (p:Point) ON (p.shelf, p.id);
